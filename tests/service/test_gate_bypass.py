"""The way past the queue: how many requests go it at once, and what is not known of one that was cut off on it."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from gate import bypass
from gate.bypass import MOST_AT_ONCE, Bypass, BypassAnswer, BypassCutOffError
from tests.service.gate_process import gate_running
from tests.service.raw_server import Answer, raw_server
from tests.service.redis_servers import LOOPBACK, RedisServer, free_port

ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}"
REQUEST_END = b"\r\n\r\n"


async def forward(url: str) -> BypassAnswer | None:
    with Bypass(url) as way:
        return await way.forward(b"{}")


async def forward_past(answer: Answer) -> BypassAnswer | None:
    async with raw_server(answer) as url:
        return await forward(url)


def test_as_many_as_are_let_go_are_under_way_at_once_however_few_threads_the_loop_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bypass, "TIMEOUT_S", 20.0)
    there = most = 0

    async def play() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        all_there = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal there, most
            await reader.readuntil(REQUEST_END)
            there += 1
            most = max(most, there)
            if there < MOST_AT_ONCE:
                with suppress(TimeoutError):
                    await asyncio.wait_for(all_there.wait(), 10)
            all_there.set()
            there -= 1
            writer.write(ACCEPTED)

        async with raw_server(answer) as url:
            with Bypass(url) as way:
                sent = [asyncio.create_task(way.forward(b"{}")) for _ in range(MOST_AT_ONCE)]
                await asyncio.sleep(0)
                assert await way.forward(b"one too many") is None
                assert await asyncio.gather(*sent) == [BypassAnswer(b"{}", None)] * MOST_AT_ONCE

    asyncio.run(play())
    assert most == MOST_AT_ONCE
    assert [one for one in threading.enumerate() if one.name.startswith("bypass")] == []


@pytest.mark.parametrize("said", [b"", b"no HTTP at all\r\n\r\n"], ids=["nothing", "nonsense"])
def test_of_a_request_that_was_sent_and_not_answered_nobody_can_say(said: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(REQUEST_END)
        writer.write(said)

    with pytest.raises(BypassCutOffError):
        asyncio.run(forward_past(answer))


def test_a_request_for_which_nobody_listens_was_certainly_not_accepted() -> None:
    assert asyncio.run(forward(f"http://{LOOPBACK}:{free_port()}/v1/jobs")) is None


def test_a_gate_whose_bypass_times_out_refuses_in_error_and_sheds_nothing(
    own_redis: RedisServer, tmp_path: Path
) -> None:
    own_redis.kill()

    async def play() -> None:
        answered = asyncio.Event()

        async def answer(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            await reader.readuntil(REQUEST_END)
            await answered.wait()

        async with raw_server(answer) as url:
            try:
                await asyncio.to_thread(post_past, url)
            finally:
                answered.set()

    def post_past(url: str) -> None:
        with gate_running(tmp_path, own_redis.url, ON_QUEUE_FAILURE="bypass", BYPASS_URL=url) as gate:
            refused = gate.post(request_id="perhaps")
            assert (refused.status_code, refused.json()["reason"]) == (503, "queue_unreachable")
            (line,) = gate.events("refusal", "decision", "bypass")
            assert (line["event"], line["request_id"], line["status"]) == ("refusal", "perhaps", 503)

    asyncio.run(play())
