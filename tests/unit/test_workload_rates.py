"""Expected rates over time."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from lab.contract.messages import ScheduledRequest
from lab.contract.workload_spec import Arrivals
from lab.workload.rates import Stretch, mean_rate, stretches_of

ARRIVALS: TypeAdapter[Arrivals] = TypeAdapter(Arrivals)


def arrivals(kind: str, **fields: Any) -> Arrivals:
    return ARRIVALS.validate_python({"kind": kind, **fields})


def stage(lasts: str, start_rate: str, end_rate: str) -> dict[str, str]:
    return {"lasts": lasts, "start_rate": start_rate, "end_rate": end_rate}


def due_at(*due_s: float) -> list[ScheduledRequest]:
    job = {"job_class": "chat", "tenant": "t", "input_tokens": 1, "output_tokens": 1, "work_s": 1, "first_token_s": 1}
    return [
        ScheduledRequest.model_validate({"request_id": f"r{n}", "due_s": due, "deadline_s": 1, **job})
        for n, due in enumerate(due_s)
    ]


def test_a_ramps_mean_rate_is_that_of_the_stretch_asked_for() -> None:
    ramp = arrivals("stages", stages=[stage("100s", "0/s", "20/s"), stage("200s", "20/s", "20/s")])
    assert mean_rate(ramp, 0, 100, 300) == pytest.approx(10)
    assert mean_rate(ramp, 50, 100, 300) == pytest.approx(15)
    assert mean_rate(ramp, 100, 300, 300) == pytest.approx(20)


def test_a_stage_that_lasts_no_time_is_left_out() -> None:
    step = arrivals("stages", stages=[stage("0s", "0/s", "5/s"), stage("9s", "5/s", "5/s")])
    assert stretches_of(step, 9) == (Stretch(0, 9, 5, 5),)


def test_bursts_are_expected_at_the_mean_length_of_their_turns() -> None:
    bursts = arrivals("on_off", on_rate="40/s", off_rate="4/s", mean_on="10s", mean_off="20s")
    turns = stretches_of(bursts, 35)
    assert [(t.begin_s, t.end_s, t.begin_rate_per_s) for t in turns] == [(0, 10, 40), (10, 30, 4), (30, 35, 40)]
    assert mean_rate(bursts, 0, 10, 35) == pytest.approx((40 * 10 + 4 * 20) / 30)


@pytest.mark.parametrize("mean", ["0s", "1ms"])
def test_bursts_too_short_to_tell_apart_are_one_rate(mean: str) -> None:
    bursts = arrivals("on_off", on_rate="40/s", off_rate="40/s", mean_on=mean, mean_off=mean)
    assert stretches_of(bursts, 60) == (Stretch(0, 60, 40, 40),)


def test_a_replays_rate_is_counted_from_its_schedule_and_unknown_without() -> None:
    replay = arrivals("replay", file="trace.csv")
    assert stretches_of(replay, 10) == ()
    assert mean_rate(replay, 0, 5, 10, due_at(0, 1, 1, 8)) == pytest.approx(3 / 5)
    assert mean_rate(replay, 5, 10, 10, due_at(0, 1, 1, 8)) == pytest.approx(1 / 5)
