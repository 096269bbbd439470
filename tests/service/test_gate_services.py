"""What the gate reads and counts in Redis beside jobs: services, measured waits, refusals of clients."""

import time
from typing import Any

import pytest

from gate.stream import MOST_CLASSES, JobStream, RefusedClient, Services
from lab.contract import names
from lab.policies.snapshot import ServiceSample
from tests.service.redis_servers import BOTH_SERVERS
from tests.service.test_gate_stream import admit, candidate, client_of, deliver, with_stream, worker_beats

both_servers = pytest.mark.parametrize("redis_url", BOTH_SERVERS, indirect=True)


def services(redis_url: str) -> Services:
    return with_stream(redis_url, lambda stream: stream.services())


def finished(client: Any, job_class: str, *texts: str) -> None:
    client.sadd(names.CLASSES_KEY, job_class)
    client.rpush(names.SERVICE_KEY_PREFIX + job_class, *texts)


@both_servers
def test_services_are_read_newest_first_by_class_as_the_workers_left_them(redis_url: str) -> None:
    with client_of(redis_url) as client:
        finished(client, "small", "2000:800000", "1000:900000")
        finished(client, "large", "3000:12000000")
        client.rpush(names.WAITS_KEY, "9000:1500000", "8950:0")
        read = services(redis_url)
    assert read.samples == {
        "small": (ServiceSample("small", 0.8, 2.0), ServiceSample("small", 0.9, 1.0)),
        "large": (ServiceSample("large", 12.0, 3.0),),
    }
    assert read.waits_s == (1.5, 0.0)
    assert read.read_at == pytest.approx(time.time(), abs=60)


@both_servers
def test_a_class_with_jobs_and_no_services_yet_is_known_and_what_is_no_sample_is_left_out(redis_url: str) -> None:
    with client_of(redis_url) as client:
        admit(redis_url, candidate(0, job_class="new"))
        finished(client, "small", "soon", "2000:800000", "1000:-5", "")
        assert services(redis_url).samples == {"new": (), "small": (ServiceSample("small", 0.8, 2.0),)}


@both_servers
def test_no_more_samples_and_classes_are_read_than_are_estimated(redis_url: str) -> None:
    with client_of(redis_url) as client:
        finished(client, "busy", *(f"{number}:1000" for number in range(names.SERVICE_SAMPLES + 50)))
        assert len(services(redis_url).samples["busy"]) == names.SERVICE_SAMPLES
        client.sadd(names.CLASSES_KEY, *(f"made-up-{number}" for number in range(MOST_CLASSES + 10)))
        assert len(services(redis_url).samples) == MOST_CLASSES


@both_servers
def test_a_sample_measures_how_long_what_was_delivered_last_had_waited(redis_url: str) -> None:
    with client_of(redis_url) as client:
        worker_beats(client, "w", 1)
        admit(redis_url, save=True)
        client.delete(names.WAITS_KEY)
        now_ms = client.time()[0] * 1000
        for age_s in (30, 20):
            client.xadd(names.STREAM, {"v": "1"}, id=f"{now_ms - age_s * 1000}-0")
        deliver(client, 1)
        admit(redis_url, save=True)
        admit(redis_url, save=True)
        # Whole seconds made the id, and the sample may come up to 200 ms after the delivery.
        (wait_s,) = services(redis_url).waits_s
        assert wait_s == pytest.approx(30.5, abs=1)


@both_servers
def test_with_nothing_waiting_and_a_slot_idle_the_wait_is_measured_as_none(redis_url: str) -> None:
    with client_of(redis_url) as client:
        worker_beats(client, "w", 1)
        admit(redis_url, save=True)
        time.sleep(0.05)
        admit(redis_url, save=True)
        assert set(services(redis_url).waits_s) == {0.0}
        client.delete(names.WAITS_KEY)
        # A queue that nobody works on has no measured wait.
        admit(redis_url, candidate(0))
        admit(redis_url, save=True)
        assert services(redis_url).waits_s == ()


@both_servers
def test_what_was_delivered_while_nobody_looked_is_not_measured(redis_url: str) -> None:
    with client_of(redis_url) as client:
        worker_beats(client, "w", 1)
        admit(redis_url, candidate(0), candidate(1), save=True)
        deliver(client, 1)
        time.sleep(0.3)
        worker_beats(client, "w", 1)
        admit(redis_url, save=True)
        assert services(redis_url).waits_s == ()


@both_servers
def test_the_queue_is_read_oldest_first_without_what_was_delivered_or_is_no_job(redis_url: str) -> None:
    assert with_stream(redis_url, lambda stream: stream.queued())[1] == []
    with client_of(redis_url) as client:
        reply = admit(redis_url, candidate(0), candidate(1, job_class="code"), candidate(2))
        client.xadd(names.STREAM, {"v": "1", "job": "no job"})
        client.xadd(names.STREAM, {"v": "1"})
        deliver(client, 1)
        _, queued = with_stream(redis_url, lambda stream: stream.queued())
    assert [job.job_class for job in queued] == ["code", "chat"]
    assert queued[0].deadline_at == pytest.approx(reply.snapshot.now_at + 2.5, abs=1e-5)


def refuse(redis_url: str, *clients: str, window_s: float = 60.0, hard_window_s: float = 240.0) -> list[int]:
    async def play(stream: JobStream) -> list[int]:
        return await stream.count_refusals([RefusedClient(one, window_s, hard_window_s) for one in clients], 3)

    return with_stream(redis_url, play)


@both_servers
def test_refusals_are_counted_per_client_within_its_window_for_all_replicas(redis_url: str) -> None:
    assert refuse(redis_url, "acme", "other", "acme") == [1, 1, 2]
    assert refuse(redis_url, "acme", "other") == [3, 2]


@both_servers
def test_a_client_that_stays_away_for_its_window_begins_anew(redis_url: str) -> None:
    assert refuse(redis_url, "acme", "acme", window_s=0.05) == [1, 2]
    time.sleep(0.1)
    assert refuse(redis_url, "acme") == [1]


@both_servers
def test_the_hard_answer_begins_a_longer_window_and_the_ordinary_ones_do_not(redis_url: str) -> None:
    with client_of(redis_url) as client:
        now_ms = client.time()[0] * 1000
        refuse(redis_url, "acme")
        first_until_ms = client.zscore(names.REFUSED_UNTIL_KEY, "acme")
        refuse(redis_url, "acme")
        assert client.zscore(names.REFUSED_UNTIL_KEY, "acme") == first_until_ms
        refuse(redis_url, "acme")
        assert client.zscore(names.REFUSED_UNTIL_KEY, "acme") >= now_ms + 240_000


@both_servers
def test_no_more_clients_are_watched_than_there_is_room_for(redis_url: str) -> None:
    with client_of(redis_url) as client:
        far = (client.time()[0] + 3_600) * 1000
        crowd = {f"c-{number}": far for number in range(names.MOST_REFUSED_CLIENTS)}
        client.zadd(names.REFUSED_UNTIL_KEY, crowd)
        client.hset(names.REFUSED_KEY, mapping=dict.fromkeys(crowd, 1))
        assert refuse(redis_url, "one-more", "c-7") == [0, 2]
        assert client.zcard(names.REFUSED_UNTIL_KEY) == client.hlen(names.REFUSED_KEY) == len(crowd)
        # Those whose window is over make room.
        client.zadd(names.REFUSED_UNTIL_KEY, {"c-1": 1, "c-2": 1})
        assert refuse(redis_url, "one-more") == [1]
        assert client.zcard(names.REFUSED_UNTIL_KEY) == client.hlen(names.REFUSED_KEY) == len(crowd) - 1
