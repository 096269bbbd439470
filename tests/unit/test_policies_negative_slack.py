"""The share of the queue that is lost already, by hand."""

import pytest

from lab.policies.negative_slack import QueuedJob, negative_slack_ratio


def ratio(*deadlines_at: float, in_flight_s: float = 0.0, slots: int = 2, job_class: str = "chat") -> float:
    queued = [QueuedJob(job_class, at) for at in deadlines_at]
    return negative_slack_ratio(100.0, queued, in_flight_s, {"chat": 4.0}, slots)


def test_an_empty_queue_has_none() -> None:
    assert ratio() == 0.0


@pytest.mark.parametrize(
    ("deadlines_at", "in_flight_s", "slots", "share"),
    [
        pytest.param((104.0,), 0.0, 2, 0.0, id="done just at its deadline"),
        pytest.param((103.9,), 0.0, 2, 1.0, id="done just after it"),
        # The second ends at 100 + 4/2 + 4 = 106 s.
        pytest.param((200.0, 105.9), 0.0, 2, 0.5, id="behind another"),
        pytest.param((200.0, 106.0), 0.0, 2, 0.0, id="behind another, in time"),
        # 6 s in flight over two slots are 3 s more.
        pytest.param((106.9, 109.0), 6.0, 2, 0.5, id="behind what is in flight"),
        pytest.param((107.9,), 4.0, 0, 1.0, id="no live worker counts as one slot"),
    ],
)
def test_a_job_is_late_where_its_wait_and_service_pass_its_deadline(
    deadlines_at: tuple[float, ...], in_flight_s: float, slots: int, share: float
) -> None:
    assert ratio(*deadlines_at, in_flight_s=in_flight_s, slots=slots) == share


def test_of_a_class_nobody_knows_no_service_is_expected() -> None:
    assert ratio(100.1, 99.9, job_class="new") == 0.5
