"""Whatever a command raises leaves as one sentence and an exit code."""

import errno
from collections.abc import Callable

import pytest

from lab.contract.names import EXIT_COULD_NOT_RUN, EXIT_DEVIATED, EXIT_INTERRUPTED, EXIT_OK, EXIT_USAGE
from lab.desk.border import carry_out
from lab.desk.errors import DeskError


def raising(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "exit_code", "said"),
    [
        (DeskError("no such thing"), EXIT_USAGE, "shedlab: no such thing\n"),
        (DeskError("first\nsecond"), EXIT_USAGE, "shedlab: first\nshedlab: second\n"),
        (DeskError("a port is taken", EXIT_COULD_NOT_RUN), EXIT_COULD_NOT_RUN, "shedlab: a port is taken\n"),
        (KeyboardInterrupt(), EXIT_INTERRUPTED, "shedlab: interrupted\n"),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            EXIT_COULD_NOT_RUN,
            "shedlab: No space left on device; free some space\n",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "reports/x"),
            EXIT_COULD_NOT_RUN,
            "shedlab: reports/x: Permission denied; make it yours to use\n",
        ),
        (
            ZeroDivisionError("over\nzero"),
            EXIT_COULD_NOT_RUN,
            "shedlab: unexpected ZeroDivisionError: over zero; set SHEDLAB_DEBUG=1 to see where\n",
        ),
    ],
    ids=["refusal", "two sentences", "could not run", "Ctrl-C", "full disk", "no permission", "bug"],
)
def test_an_error_is_a_sentence_and_its_exit_code(
    error: BaseException, exit_code: int, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SHEDLAB_DEBUG", raising=False)
    assert carry_out(raising(error)) == exit_code
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", said)


def test_a_bug_shows_its_traceback_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHEDLAB_DEBUG", "1")
    assert carry_out(raising(ZeroDivisionError("over zero"))) == EXIT_COULD_NOT_RUN
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("exit_code", [EXIT_OK, EXIT_DEVIATED, EXIT_COULD_NOT_RUN])
def test_a_command_that_comes_back_keeps_its_exit_code(exit_code: int) -> None:
    assert carry_out(lambda: exit_code) == exit_code
