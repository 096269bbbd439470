"""A `docker` program that answers as it is told, and writes down what it was asked."""

import stat
from pathlib import Path

import pytest


class FakeDocker:
    """Puts itself first on PATH. `answers` maps the start of a command line to (exit code, stdout, stderr)."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, answers: dict[str, tuple[int, str, str]]) -> None:
        self._asked = folder / "asked"
        cases = "\n".join(
            f"  {_pattern(start)}*) printf '%s' {_quoted(out)}; printf '%s' {_quoted(err)} >&2; exit {code};;"
            for start, (code, out, err) in answers.items()
        )
        program = folder / "docker"
        write_down = f'printf "%s\\n" "$*" >> {_quoted(str(self._asked))}'
        # Who follows a log is held up for a while, as by a container that runs.
        follow = "  logs*) exec sleep 0.5;;"
        program.write_text(f'#!/bin/sh\n{write_down}\ncase "$*" in\n{follow}\n{cases}\n  *) exit 0;;\nesac\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    @property
    def asked(self) -> list[str]:
        """Every command line so far."""
        return self._asked.read_text().splitlines() if self._asked.exists() else []


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _pattern(start: str) -> str:
    return _quoted(start)
