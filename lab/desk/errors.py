"""How a command says no."""

from lab.contract.names import EXIT_USAGE


class DeskError(Exception):
    """A command that cannot be carried out: one sentence, and the exit code that goes with it."""

    def __init__(self, sentence: str, exit_code: int = EXIT_USAGE) -> None:
        """Exit code 2 unless it is not the user's words that are wrong."""
        super().__init__(sentence)
        self.exit_code = exit_code
