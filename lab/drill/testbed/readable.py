"""What containers mount of this checkout must be readable to their user, whatever umask the checkout was made under."""

import stat
from pathlib import Path

from lab.drill.testbed import StackError
from lab.drill.testbed.engine import PROJECT_ROOT

# As compose.yaml mounts them.
MOUNTED = ("deploy", "scenarios")
READ = stat.S_IRGRP | stat.S_IROTH
ENTER = stat.S_IXGRP | stat.S_IXOTH


def make_mounts_readable(root: Path = PROJECT_ROOT) -> None:
    """Lets everybody read the files that compose.yaml mounts, and enter their folders; nothing else is touched.

    Raises:
        StackError: some of it may not be read by all, and belongs to somebody else.
    """
    for name in MOUNTED:
        for path in (root / name, *(root / name).rglob("*")):
            _let_read(path)


def _let_read(path: Path) -> None:
    mode = path.stat().st_mode
    wanted = mode | READ | (ENTER if stat.S_ISDIR(mode) else 0)
    if wanted == mode:
        return
    try:
        path.chmod(stat.S_IMODE(wanted))
    except OSError as error:
        raise StackError(
            f"{path}: containers may not read it, and its mode cannot be changed: {error.strerror or error}; "
            "let its owner run chmod -R go+rX deploy scenarios"
        ) from None
