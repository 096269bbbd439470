"""An authority of the test's own and the certificates it signs, made with openssl."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

# Set where CI promises openssl, so that its absence fails instead of skipping.
REQUIRE = "LAB_REQUIRE_OPENSSL"
CONFIG = """
[req]
distinguished_name = name
prompt = no
[name]
CN = lab
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
subjectAltName = DNS:{host}
authorityKeyIdentifier = keyid
"""
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """Signs certificates for any name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.file = folder / "authority.pem"
        self._key = folder / "authority.key"
        self._make("authority", "lab", self.file, self._key)

    def certificate(self, host: str) -> tuple[str, str]:
        """The files of a certificate with this name on it, and of its key."""
        file, key = self._folder / f"{host}.pem", self._folder / f"{host}.key"
        self._make("server", host, file, key, "-CA", str(self.file), "-CAkey", str(self._key))
        return str(file), str(key)

    def _make(self, kind: str, host: str, file: Path, key: Path, *signer: str) -> None:
        config = self._folder / f"{host}.cnf"
        config.write_text(CONFIG.format(host=host), encoding="ascii")
        named = ("-config", str(config), "-extensions", kind, "-days", "2", "-subj", f"/CN={host}")
        argv = [_openssl(), "req", "-x509", *NEW_KEY, *named, "-keyout", str(key), "-out", str(file), *signer]
        subprocess.run(argv, check=True, capture_output=True)


def _openssl() -> str:
    found = shutil.which("openssl")
    if found is None:
        assert not os.environ.get(REQUIRE), f"there is no openssl on PATH, and {REQUIRE} is set"
        pytest.skip("there is no openssl on PATH")
    return found
