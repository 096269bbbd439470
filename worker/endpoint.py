"""Where the model is reached and under which name it is asked. Pure: knows URLs; must not know a socket.

A proxy between the worker and a real endpoint must not change what the endpoint sees: `MODEL_CONNECT` is where the
connection goes, while the Host header, the TLS server name and the name on the certificate stay those of `MODEL_URL`.
"""

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`url` is the chat route at the address to connect to; `host` and `tls_name` are the model's own."""

    url: str
    host: str
    tls_name: str


def endpoint_of(model_url: str, connect: str | None) -> Endpoint:
    """The endpoint of a base URL; `connect` is the host:port to go to instead of the URL's own."""
    parts = urlsplit(f"{model_url}/chat/completions")
    return Endpoint(
        url=parts._replace(netloc=connect or parts.netloc).geturl(),
        host=parts.netloc,
        tls_name=parts.hostname or "",
    )
