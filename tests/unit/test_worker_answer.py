import json

import pytest

from worker.answer import MOST_LINE_BYTES, AnswerError, AnswerReader, error_message


def data(**chunk: object) -> bytes:
    return f"data: {json.dumps(chunk)}\n\n".encode()


CONTENT = data(choices=[{"index": 0, "delta": {"content": "lab é"}, "finish_reason": None}])
FINISH = data(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
USAGE = data(choices=[], usage={"completion_tokens": 7})
DONE = b"data: [DONE]\n\n"
WHOLE = CONTENT + CONTENT + FINISH + USAGE + DONE


@pytest.mark.parametrize("size", [1, 2, 7, 100, len(WHOLE)])
def test_an_answer_reads_the_same_in_pieces_of_any_size(size: int) -> None:
    reader = AnswerReader()
    for start in range(0, len(WHOLE), size):
        reader.feed(WHOLE[start : start + size])
    assert (reader.done, reader.has_content, reader.tokens_out) == (True, True, 7)


def test_line_ends_comments_and_other_fields_do_not_matter() -> None:
    reader = AnswerReader()
    reader.feed(b": keep-alive\n\nevent: chunk\nid: 1\n" + (CONTENT + FINISH + DONE).replace(b"\n", b"\r\n"))
    assert (reader.done, reader.tokens_out) == (True, 1)


def test_a_role_and_an_empty_content_are_no_first_token() -> None:
    reader = AnswerReader()
    reader.feed(data(choices=[{"index": 0, "delta": {"role": "assistant", "content": ""}}]))
    reader.feed(data(choices=[{"index": 0, "delta": None}]) + data(choices=None, usage=None))
    assert not reader.has_content


def test_what_comes_after_done_is_left_unread() -> None:
    reader = AnswerReader()
    reader.feed(FINISH + DONE + b"data: rubbish\n\n")
    assert reader.done


WRONG = {
    "no_json": b"data: {\n",
    "no_object": b"data: [1]\n",
    "a_number": b"data: 7\n",
    "choices_no_list": data(choices="abc"),
    "a_choice_no_object": data(choices=[1]),
    "a_delta_no_object": data(choices=[{"delta": "abc"}]),
    "no_text": b'data: {"a":"\xff"}\n',
    "nested_without_end": b"data: " + b"[" * 100_000 + b"\n",
    "done_too_soon": CONTENT + DONE,
    "an_error": data(error={"message": "no"}),
    "a_line_without_end": b"data: " + b"x" * MOST_LINE_BYTES,
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_what_is_no_answer_is_refused(content: bytes) -> None:
    with pytest.raises(AnswerError):
        AnswerReader().feed(content)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"error":{"message":"too many","type":"requests"}}', "too many"),
        (b'{"error":"plain"}', "plain"),
        (b'{"detail":"other"}', '{"detail":"other"}'),
        (b"[" * 100_000, "[" * 200),
        (b"\xff oops", "� oops"),
        (b"", ""),
    ],
    ids=["object", "text", "other_json", "nested", "no_text", "empty"],
)
def test_an_error_answer_is_shortened_to_what_it_says(body: bytes, said: str) -> None:
    assert error_message(body) == said
