"""The images that a compose stack is made of: built from this checkout, or pulled; and what they call themselves."""

import functools
import hashlib
import json
from typing import Any

from lab.drill.testbed.engine import PROJECT_ROOT, EngineError, ask_engine, compose_command, engine_environment

BUILD_TIMEOUT_S = 1800.0
# As compose.yaml has it where nobody says otherwise.
SHARED_TAG = "dev"
OLDEST_COMPOSE = (2, 22)


class ImagesError(EngineError):
    """Images that can neither be built nor pulled."""


def engine_version() -> str:
    """The engine's version.

    Raises:
        EngineError: none answers, or Compose is missing or too old.
    """
    version = ask_engine("version", "--format", "{{.Server.Version}}").strip()
    compose = compose_version()
    if tuple(int(part) for part in compose.split(".")[:2]) < OLDEST_COMPOSE:
        raise EngineError(f"Docker Compose {compose} is too old; install {'.'.join(map(str, OLDEST_COMPOSE))} or newer")
    return version


def compose_version() -> str:
    """Compose's version, such as 2.26.1.

    Raises:
        EngineError: the plugin is missing, or says something that is no version.
    """
    said = ask_engine("compose", "version", "--short").strip().lstrip("v")
    numbers = said.split("-")[0].split("+")[0]
    if not all(part.isdigit() for part in numbers.split(".")):
        raise EngineError(f"docker compose version says {said!r}, which is no version")
    return numbers


@functools.cache
def image_tag() -> str:
    """TAG of the images that this checkout's drills build and play: what the user set, else one of its own.

    Another checkout on the same engine may build at any moment, and its code is not what this one plays.

    Raises:
        EngineError: Compose does not take the file, or there is none.
    """
    declared: str = _services()["gate"]["image"].rpartition(":")[2]
    own = hashlib.sha256(str(PROJECT_ROOT).encode()).hexdigest()[:8]
    return declared if declared != SHARED_TAG else f"{SHARED_TAG}-{own}"


def tagged_environment() -> dict[str, str]:
    """The environment in which Compose means this checkout's images. Raises EngineError."""
    return engine_environment({"TAG": image_tag()})


def base_images() -> dict[str, str]:
    """Service -> image of those that are pulled as they are."""
    return {name: service["image"] for name, service in _services().items() if "build" not in service}


def _services() -> dict[str, Any]:
    services: dict[str, Any] = json.loads(ask_engine(*compose_command("shedlab", "config", "--format", "json")))[
        "services"
    ]
    return services


def is_there(image: str) -> bool:
    """Whether the engine has the image."""
    try:
        ask_engine("image", "inspect", "--format", "{{.Id}}", image)
    except EngineError:
        return False
    return True


def make_images() -> None:
    """Builds the services' images from this checkout, from cache where nothing changed, and pulls what is missing.

    Raises:
        ImagesError: they can neither be built nor pulled.
    """
    try:
        build = compose_command("shedlab", "build", "--quiet")
        ask_engine(*build, environment=tagged_environment(), timeout_s=BUILD_TIMEOUT_S)
        for image in base_images().values():
            if not is_there(image):
                ask_engine("pull", "--quiet", image, timeout_s=BUILD_TIMEOUT_S)
    except EngineError as error:
        raise ImagesError(f"the images can neither be built nor pulled: {error}") from None


@functools.cache
def _image_versions() -> dict[str, str]:
    return {"engine": engine_version(), "compose": compose_version(), **base_images()}


def image_versions() -> dict[str, str]:
    """Names of what a stack is made of, for the report."""
    return dict(_image_versions())
