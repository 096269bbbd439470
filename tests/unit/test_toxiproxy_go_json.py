"""JSON as Go reads and writes it."""

import pytest

from lab.toxiproxy.go_json import (
    GoJsonError,
    decode,
    decode_object,
    encode,
    float32_field,
    integer_field,
    shortest_float32,
    text_field,
    whole,
)


def test_only_the_first_value_counts() -> None:
    assert decode_object(b' {"a":"b"} trailing', "T") == {"a": "b"}


def test_keys_are_folded_the_last_wins_and_null_leaves_what_was() -> None:
    assert text_field(decode_object(b'{"Name":"a","NAME":"b","name":null}', "T"), "name", "T") == "b"


def test_null_is_no_object_and_no_error() -> None:
    assert decode_object(b"null", "T") == {}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "EOF"),
        (b"  ", "EOF"),
        (b'{"a":', "unexpected EOF"),
        (b"[1", "unexpected EOF"),
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"{x", "invalid character 'x' looking for beginning of object key string"),
        (b"NaN", "invalid character 'N' looking for beginning of value"),
    ],
)
def test_what_is_no_json_is_told_as_go_tells_it(body: bytes, sentence: str) -> None:
    with pytest.raises(GoJsonError) as caught:
        decode(body)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("body", [b"[" * 100_000, b"[]", b"5", b'"x"', b"true"])
def test_what_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(GoJsonError):
        decode_object(body, "T")


@pytest.mark.parametrize(
    "number", ["1.5", "1.0", "1e2", '"1"', "true", "[]", "9223372036854775808", "-9223372036854775809"]
)
def test_an_integer_takes_nothing_but_whole_numbers_of_64_bits(number: str) -> None:
    fields = decode_object(f'{{"n":{number}}}'.encode(), "T")
    with pytest.raises(GoJsonError):
        integer_field(fields, "n", "T", 0)


@pytest.mark.parametrize("number", [0, -1, 2**63 - 1, -(2**63)])
def test_an_integer_of_64_bits_is_read_whole(number: int) -> None:
    assert integer_field(decode_object(f'{{"n":{number}}}'.encode(), "T"), "n", "T", 0) == number


@pytest.mark.parametrize("number", ["1e40", "1e400", "-1e39", '"x"'])
def test_a_float_beyond_32_bits_is_refused(number: str) -> None:
    with pytest.raises(GoJsonError):
        float32_field(decode_object(f'{{"n":{number}}}'.encode(), "T"), "n", "", 1.0)


@pytest.mark.parametrize("number", [0.1, 0.3, 0.33333334, 1.0, 0.0, 1e-7])
def test_a_float_is_written_with_the_fewest_digits_that_are_the_same_32_bits(number: float) -> None:
    assert shortest_float32(number) == number


def test_writing_is_compact_and_escapes_what_go_escapes() -> None:
    assert encode({"a": "<&>é\u2028", "b": whole(1.0)}).decode() == '{"a":"\\u003c\\u0026\\u003eé\\u2028","b":1}'


def test_half_a_surrogate_pair_is_replaced_and_can_be_sent_back() -> None:
    assert encode(text_field(decode_object(b'{"a":"\\ud800"}', "T"), "a", "T")) == '"\ufffd"'.encode()
