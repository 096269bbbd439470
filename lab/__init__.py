"""Shedlab: everything that is not a running service. The front desk is `lab.__main__`."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("shedlab")
except PackageNotFoundError:
    # A container image holds only its own rooms, without the distribution's metadata.
    __version__ = "0+unknown"
