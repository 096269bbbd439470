"""A real model endpoint in place of the mock: which one, and what workers are told so that they reach it by proxy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from lab.contract import environment as env

DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """Any OpenAI-compatible endpoint. The key leaves this object only towards a worker's environment."""

    url: str
    model_name: str
    api_key: str = field(repr=False)
    ca_file: str

    @property
    def address(self) -> str:
        """`host:port`, where the proxy leads to."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        return f"{f'[{host}]' if ':' in host else host}:{parts.port or DEFAULT_PORTS[parts.scheme]}"

    @property
    def label(self) -> str:
        """What a report calls it: scheme and address, no path and no secret."""
        return f"{urlsplit(self.url).scheme}://{self.address}"

    def out_of_containers_reach(self) -> str:
        """Why workers in containers could not call it; empty where they can."""
        host = urlsplit(self.url).hostname or ""
        if host == "localhost" or host.startswith("127.") or host == "::1":
            return f"{self.label} is this machine's loopback, which containers cannot reach"
        return f"{env.MODEL_CA_FILE} is not handed on to containers" if self.ca_file else ""

    def worker_environment(self, connect: str) -> dict[str, str]:
        """A worker's settings; it connects to `connect`, under the endpoint's own host name and TLS name."""
        told = {
            env.MODEL_URL: self.url,
            env.MODEL_NAME: self.model_name,
            env.MODEL_API_KEY: self.api_key,
            env.MODEL_CONNECT: connect,
        }
        return told | ({env.MODEL_CA_FILE: self.ca_file} if self.ca_file else {})


def read_endpoint(environ: Mapping[str, str]) -> ModelEndpoint | None:
    """The endpoint that MODEL_URL, MODEL_API_KEY, MODEL_NAME and MODEL_CA_FILE name; None where MODEL_URL is not set.

    Raises:
        ValueError: it is no http or https URL; one sentence, without the URL, which may hold a secret.
    """
    url = environ.get(env.MODEL_URL, "")
    if not url:
        return None
    if not _is_usable(url):
        raise ValueError(
            f"{env.MODEL_URL} must be a base URL such as https://api.example.com/v1, with no user and no query"
        )
    return ModelEndpoint(
        url=url.rstrip("/"),
        model_name=environ.get(env.MODEL_NAME) or env.DEFAULT_MODEL_NAME,
        api_key=environ.get(env.MODEL_API_KEY, ""),
        ca_file=environ.get(env.MODEL_CA_FILE, ""),
    )


def _is_usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return parts.scheme in DEFAULT_PORTS and has_host and not set(url) & set("@?# ")
