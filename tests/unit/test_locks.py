"""The locks: every dependency of the project pinned and hashed, and no address of a registry."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, GROUPS = PYPROJECT["project"], PYPROJECT["dependency-groups"]
PINNED = re.compile(
    r"^(?P<name>[A-Za-z0-9._-]+)==\S+(?: ; .+?)? \\\n(?P<hashes>(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)"
)
REQUIREMENT = re.compile(r"^[A-Za-z0-9._-]+")
IMAGE_LOCKS = {image: f"locks/requirements-{image}.lock" for image in GROUPS}
LOCKS = ("requirements.lock", "requirements-dev.lock", *IMAGE_LOCKS.values())


def canonical(name: str) -> str:
    """A project's name as packaging compares names (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def lock_text(lock: str) -> str:
    return (ROOT / lock).read_text(encoding="utf-8")


def entries(text: str) -> list[str]:
    """One text per pinned project: its first line and what is indented below it, without comments."""
    lines = [line for line in text.splitlines(keepends=True) if line.strip() and not line.lstrip().startswith("#")]
    return re.split(r"^(?=\S)", "".join(lines), flags=re.MULTILINE)[1:]


def pinned(lock: str) -> set[str]:
    return {canonical(match["name"]) for entry in entries(lock_text(lock)) if (match := PINNED.match(entry))}


def names(requirements: list[str]) -> set[str]:
    return {canonical(match.group()) for line in requirements if (match := REQUIREMENT.match(line))}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_no_address(lock: str) -> None:
    assert not re.findall(r"\S*://\S*|^-\S*|@ \S+", lock_text(lock), flags=re.MULTILINE)


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_of_a_lock_is_pinned_and_hashed(lock: str) -> None:
    found = entries(lock_text(lock))
    assert len(found) > min(len(group) for group in GROUPS.values())
    assert [entry.splitlines()[0] for entry in found if not PINNED.fullmatch(entry)] == []


@pytest.mark.parametrize("lock", LOCKS[:2])
def test_every_dependency_of_the_project_is_locked(lock: str) -> None:
    assert names(PROJECT["dependencies"]) - pinned(lock) == set()


def test_every_dependency_of_the_tests_is_locked() -> None:
    assert names(PROJECT["optional-dependencies"]["dev"]) - pinned("requirements-dev.lock") == set()


@pytest.mark.parametrize("image", GROUPS)
def test_every_package_of_an_image_is_locked(image: str) -> None:
    assert names(GROUPS[image]) - pinned(IMAGE_LOCKS[image]) == set()


def test_no_image_of_a_service_holds_what_it_may_not_import() -> None:
    for image, lock in IMAGE_LOCKS.items():
        # Locust itself needs pytest.
        foreign = {"pandas", "matplotlib"} | (set() if image == "loadgen" else {"locust", "gevent", "pytest"})
        assert not foreign & pinned(lock), image


@pytest.mark.parametrize("lock", LOCKS[1:])
def test_all_locks_pin_the_same_versions(lock: str) -> None:
    pins = all_versions("requirements.lock")
    shared = [pin for pin in all_versions(lock) if pin[0] in dict(pins)]
    assert shared
    assert [pin for pin in shared if pin not in pins] == []


def version_of(entry: str) -> tuple[str, str]:
    """Name and version, without the condition that goes with them."""
    name, _, rest = entry.partition("==")
    return canonical(name), rest.split()[0]


def all_versions(lock: str) -> set[tuple[str, str]]:
    """Of each project every version that some Python gets."""
    return set(map(version_of, entries(lock_text(lock))))
