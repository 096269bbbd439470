"""A checkout made under umask 077, as its containers will see it."""

from pathlib import Path

import pytest

from lab.drill.testbed import StackError
from lab.drill.testbed.readable import MOUNTED, make_mounts_readable


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in MOUNTED:
        (tmp_path / folder).mkdir(mode=0o700)
        (tmp_path / folder / "file").touch(mode=0o600)
    (tmp_path / ".env").touch(mode=0o600)
    return tmp_path


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_what_is_mounted_becomes_readable_to_all_and_nothing_else(checkout: Path) -> None:
    make_mounts_readable(checkout)
    for folder in MOUNTED:
        assert mode_of(checkout / folder) == 0o755
        assert mode_of(checkout / folder / "file") == 0o644
    assert mode_of(checkout / ".env") == 0o600


def test_a_mode_that_cannot_be_changed_is_said_in_a_sentence(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(StackError, match="containers may not read it"):
        make_mounts_readable(checkout)


def test_a_checkout_that_all_may_read_is_left_alone(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_mounts_readable(checkout)
    monkeypatch.setattr(Path, "chmod", lambda *_: pytest.fail("changed a mode that was right"))
    make_mounts_readable(checkout)
