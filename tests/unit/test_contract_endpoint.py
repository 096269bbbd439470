"""A real endpoint, as the environment names it."""

import pytest

from lab.contract.endpoint import read_endpoint

KEY = "sk-planted-key"
GIVEN = {"MODEL_URL": "https://api.example.com/v1/", "MODEL_API_KEY": KEY, "MODEL_NAME": "gpt-x"}


def test_without_a_url_the_mock_model_is_called() -> None:
    assert read_endpoint({}) is None
    assert read_endpoint({"MODEL_URL": "", "MODEL_API_KEY": KEY}) is None


def test_workers_are_told_the_endpoints_own_url_and_connect_to_the_proxy() -> None:
    endpoint = read_endpoint(GIVEN)
    assert endpoint is not None
    assert endpoint.worker_environment("127.0.0.1:8666") == {
        "MODEL_URL": "https://api.example.com/v1",
        "MODEL_NAME": "gpt-x",
        "MODEL_API_KEY": KEY,
        "MODEL_CONNECT": "127.0.0.1:8666",
    }


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://api.example.com/v1", "api.example.com:443"),
        ("http://models.local/v1", "models.local:80"),
        ("http://10.0.0.7:9000", "10.0.0.7:9000"),
        ("http://[::1]:9000/v1", "[::1]:9000"),
    ],
)
def test_the_proxy_leads_to_the_urls_host_and_port(url: str, address: str) -> None:
    endpoint = read_endpoint({"MODEL_URL": url})
    assert endpoint is not None
    assert endpoint.address == address
    assert endpoint.label == f"{url.partition(':')[0]}://{address}"


def test_the_key_shows_nowhere() -> None:
    endpoint = read_endpoint(GIVEN)
    assert KEY not in f"{endpoint!r} {endpoint}"


@pytest.mark.parametrize(
    "url", ["models.local", "ftp://models.local", "https:///v1", "https://user:word@host/v1", "https://h/?key=1"]
)
def test_a_url_that_cannot_be_used_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ValueError, match="MODEL_URL must be a base URL") as refused:
        read_endpoint({"MODEL_URL": url})
    assert url not in str(refused.value)
