"""What a real endpoint is told, and what of a key is shown."""

import json

import pytest

from worker.answer import AnswerError, AnswerReader, error_message
from worker.endpoint import Endpoint, endpoint_of
from worker.secrecy import hiding
from worker.settings import read_settings

KEY = "sk-a/b+c=="


@pytest.mark.parametrize(
    ("model_url", "connect", "endpoint"),
    [
        (
            "http://127.0.0.1:8090/v1",
            None,
            Endpoint("http://127.0.0.1:8090/v1/chat/completions", "127.0.0.1:8090", "127.0.0.1"),
        ),
        (
            "https://api.example.test/v1",
            "127.0.0.1:9001",
            Endpoint("https://127.0.0.1:9001/v1/chat/completions", "api.example.test", "api.example.test"),
        ),
        (
            "https://API.example.test:8443/base/v1",
            "[::1]:9001",
            Endpoint("https://[::1]:9001/base/v1/chat/completions", "API.example.test:8443", "api.example.test"),
        ),
    ],
    ids=["direct", "proxied", "proxied_with_a_port"],
)
def test_only_the_address_follows_the_proxy(model_url: str, connect: str | None, endpoint: Endpoint) -> None:
    assert endpoint_of(model_url, connect) == endpoint


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, True),
        ({"MODEL_URL": "http://127.0.0.1:1/v1"}, True),
        ({"MODEL_URL": "https://api.example.test/v1"}, False),
        ({"MODEL_CONNECT": "127.0.0.1:1"}, False),
        ({"MODEL_API_KEY": "sk"}, False),
        ({"MODEL_LAB_HEADERS": "0"}, False),
        ({"MODEL_LAB_HEADERS": "1", "MODEL_API_KEY": "sk"}, True),
    ],
)
def test_the_labs_headers_are_for_the_labs_model(environ: dict[str, str], told: bool) -> None:
    assert read_settings(environ).lab_headers is told


@pytest.mark.parametrize("text", [KEY, f"a {KEY} and {KEY}", json.dumps({"m": KEY}), '"sk-a\\/b+c=="'])
def test_a_key_is_hidden_however_it_is_written(text: str) -> None:
    hidden = hiding(KEY)(text)
    assert "[key]" in hidden
    assert "sk-a" not in hidden


def test_without_a_key_nothing_is_hidden() -> None:
    assert hiding("")("as it is") == "as it is"


@pytest.mark.parametrize("length", range(180, 201))
def test_no_part_of_a_key_is_left_by_the_cut(length: int) -> None:
    said = "x" * length + KEY
    for body in (said, json.dumps({"error": said}), json.dumps({"error": {"message": said}})):
        assert "sk" not in error_message(body.encode(), hiding(KEY))
    with pytest.raises(AnswerError) as refused:
        AnswerReader(hiding(KEY)).feed(f"data: {json.dumps({'error': said})}\n".encode())
    assert "sk-" not in str(refused.value)


def test_half_a_character_in_an_error_can_still_be_printed() -> None:
    error_message(b'{"error":{"message":"\\ud800"}}').encode()
