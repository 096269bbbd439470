"""Pacing in virtual time: no clock, no sleep, no socket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.contract.messages import ScheduledRequest
from loadgen.pacing import Pacing, remaining_deadline_s


def scheduled(request_id: str, due_s: float, deadline_s: float = 5.0) -> ScheduledRequest:
    return ScheduledRequest(
        request_id=request_id,
        due_s=due_s,
        job_class="chat",
        tenant="t",
        input_tokens=10,
        output_tokens=20,
        work_s=0.4,
        first_token_s=0.1,
        deadline_s=deadline_s,
    )


def schedule_of(*due_s: float) -> list[ScheduledRequest]:
    return [scheduled(f"r-{number}", due) for number, due in enumerate(due_s)]


def ids(requests: list[ScheduledRequest]) -> list[str]:
    return [request.request_id for request in requests]


def test_before_time_zero_nothing_is_due_and_the_wait_spans_the_lead() -> None:
    pacing = Pacing(schedule_of(0.0, 0.5))
    assert pacing.take_due(-1.0) == []
    assert pacing.wait_s(-1.0) == pytest.approx(1.0)


def test_each_request_is_taken_once_at_its_due_time() -> None:
    pacing = Pacing(schedule_of(0.0, 0.5, 0.5, 1.0))
    assert ids(pacing.take_due(0.0)) == ["r-0"]
    assert ids(pacing.take_due(0.49)) == []
    assert ids(pacing.take_due(0.5)) == ["r-1", "r-2"]
    assert pacing.wait_s(0.5) == pytest.approx(0.5)


def test_a_driver_that_wakes_late_gets_all_that_came_due_and_later_due_times_do_not_move() -> None:
    pacing = Pacing(schedule_of(0.0, 0.1, 0.2, 4.0))
    assert pacing.wait_s(3.0) == 0.0
    assert ids(pacing.take_due(3.0)) == ["r-0", "r-1", "r-2"]
    assert pacing.wait_s(3.0) == pytest.approx(1.0)


def test_the_rest_is_everything_not_taken_and_leaves_nothing_to_wait_for() -> None:
    pacing = Pacing(schedule_of(0.0, 0.1, 0.2))
    pacing.take_due(0.0)
    assert ids(pacing.take_rest()) == ["r-1", "r-2"]
    assert pacing.wait_s(0.0) is None
    assert pacing.take_due(9.0) == []


def test_an_empty_schedule_is_over_at_once() -> None:
    assert Pacing([]).wait_s(-1.0) is None


@given(st.lists(st.floats(0, 50), max_size=40), st.lists(st.floats(-1, 60), max_size=20))
def test_whenever_the_driver_wakes_every_request_is_handed_out_once_in_order_and_never_early(
    due_s: list[float], wakes_s: list[float]
) -> None:
    schedule = schedule_of(*sorted(due_s))
    pacing = Pacing(schedule)
    handed: list[ScheduledRequest] = []
    for wake_s in sorted(wakes_s):
        taken = pacing.take_due(wake_s)
        assert all(request.due_s <= wake_s for request in taken)
        handed += taken
    assert all(request.due_s > max(wakes_s, default=-1) for request in schedule[len(handed) :])
    assert handed + pacing.take_rest() == schedule


@pytest.mark.parametrize(("lag_s", "left_s"), [(0.0, 5.0), (1.5, 3.5), (5.0, 0.0), (60.0, 0.0), (-0.001, 5.0)])
def test_a_late_request_has_that_much_less_time_and_never_less_than_none(lag_s: float, left_s: float) -> None:
    assert remaining_deadline_s(scheduled("r", 0), lag_s) == pytest.approx(left_s)
