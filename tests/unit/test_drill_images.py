"""Which images a drill plays: never those that another checkout builds meanwhile."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.drill.testbed import images


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    images.image_tag.cache_clear()
    yield
    images.image_tag.cache_clear()


def tag_in(checkout: str, declared: str, monkeypatch: pytest.MonkeyPatch) -> str:
    told = {"services": {"gate": {"image": f"shedlab/gate:{declared}", "build": {}}, "redis": {"image": "redis:7"}}}
    monkeypatch.setattr(images, "ask_engine", lambda *_arguments, **_options: json.dumps(told))
    monkeypatch.setattr(images, "PROJECT_ROOT", Path(checkout))
    images.image_tag.cache_clear()
    return images.image_tag()


def test_each_checkout_has_a_tag_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tag_in("/home/a/shedlab", "dev", monkeypatch), tag_in("/home/b/shedlab", "dev", monkeypatch)
    assert one != other
    assert one == tag_in("/home/a/shedlab", "dev", monkeypatch)
    assert one.startswith("dev-")


def test_a_tag_that_the_user_set_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tag_in("/home/a/shedlab", "1.4.0", monkeypatch) == "1.4.0"


def test_images_are_built_under_that_tag(monkeypatch: pytest.MonkeyPatch) -> None:
    tag = tag_in("/home/a/shedlab", "dev", monkeypatch)
    built: list[str] = []

    def ask(*arguments: str, environment: dict[str, str] | None = None, **_options: Any) -> str:
        if "build" in arguments:
            built.append((environment or {})["TAG"])
        return '{"services": {}}'

    monkeypatch.setattr(images, "ask_engine", ask)
    images.make_images()
    assert built == [tag]
