"""What can be wrong with a workload that a scenario's own checks cannot see."""


class WorkloadError(Exception):
    """A workload that cannot be played; one sentence."""
