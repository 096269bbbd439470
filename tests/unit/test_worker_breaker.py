"""The breaker in virtual time, and the retry budget, which has none."""

import pytest

from worker.breaker import UNBOUNDED, Breaker, BreakerRule
from worker.retry_budget import FIRST_TOKENS, MOST_TOKENS, RetryBudget

RULE = BreakerRule(failures=3, open_for_s=2.0, probes=2)


class Watched:
    """A breaker, what it said, and calls that take a tenth of a second."""

    def __init__(self, rule: BreakerRule | None = RULE) -> None:
        self.said: list[tuple[str, str]] = []
        self.breaker = Breaker(rule, lambda state, reason: self.said.append((state, reason)))

    def call(self, now: float, *, fails: bool, started_at: float | None = None) -> None:
        begun_at = now - 0.1 if started_at is None else started_at
        self.breaker.observe(failed=fails, started_at=begun_at, now=now, detail="it broke")

    def opened_at(self, now: float) -> "Watched":
        for _ in range(RULE.failures):
            self.call(now, fails=True)
        return self

    def states(self) -> list[str]:
        return [state for state, _ in self.said]


def test_it_opens_at_the_declared_number_of_failures_in_a_row() -> None:
    one = Watched()
    for now, fails in ((1.0, True), (2.0, True), (3.0, False), (4.0, True), (5.0, True)):
        one.call(now, fails=fails)
        assert one.breaker.room(now) == UNBOUNDED
    one.call(6.0, fails=True)
    assert one.said == [("open", "3 calls in a row failed; the last: it broke")]
    assert not one.breaker.closed


def test_while_it_is_open_there_is_no_room_until_its_time_is_up() -> None:
    one = Watched().opened_at(10.0)
    assert [one.breaker.room(now) for now in (10.0, 11.0, 11.999)] == [0, 0, 0]
    assert one.breaker.wait_s(11.5) == 0.5
    assert one.breaker.room(12.0) == RULE.probes
    assert one.said[-1] == ("half_open", "open for 2 s; the next jobs are probes")
    assert one.breaker.wait_s(12.0) is None


def test_no_more_probes_run_than_declared_and_all_of_them_close_it() -> None:
    one = Watched().opened_at(10.0)
    rooms = []
    for job in ("a", "b"):
        rooms.append(one.breaker.room(12.0))
        one.breaker.took(job)
    rooms.append(one.breaker.room(12.0))
    assert rooms == [2, 1, 0]
    one.call(12.5, fails=False, started_at=12.1)
    one.breaker.left("a")
    assert (one.breaker.room(12.5), one.breaker.closed) == (0, False)
    one.call(12.6, fails=False, started_at=12.1)
    assert one.states() == ["open", "half_open", "closed"]
    assert one.breaker.room(12.6) == UNBOUNDED


def test_a_probe_that_fails_opens_it_again_for_as_long() -> None:
    one = Watched().opened_at(10.0)
    one.breaker.room(12.0)
    one.breaker.took("a")
    one.call(13.0, fails=True, started_at=12.1)
    one.breaker.left("a")
    assert one.said[-1] == ("open", "a probe failed: it broke")
    assert [one.breaker.room(now) for now in (14.9, 15.0)] == [0, RULE.probes]


def test_a_probe_that_made_no_call_makes_room_for_another() -> None:
    one = Watched().opened_at(10.0)
    one.breaker.room(12.0)
    for job in ("expired", "malformed"):
        one.breaker.took(job)
    assert one.breaker.room(12.1) == 0
    one.breaker.left("expired")
    assert one.breaker.room(12.1) == 1


def test_calls_from_before_a_change_say_nothing_of_the_time_after_it() -> None:
    one = Watched().opened_at(10.0)
    one.call(11.0, fails=False, started_at=9.0)
    assert one.states() == ["open"]
    one.breaker.room(12.0)
    one.call(12.5, fails=True, started_at=9.5)
    one.call(12.5, fails=False, started_at=9.5)
    assert one.states() == ["open", "half_open"]
    one.call(13.0, fails=False, started_at=12.5)
    one.call(13.0, fails=False, started_at=12.5)
    for _ in range(RULE.failures):
        one.call(14.0, fails=True, started_at=9.5)
    assert one.states() == ["open", "half_open", "closed"]


def test_without_a_rule_it_never_opens() -> None:
    one = Watched(None)
    for _ in range(100):
        one.call(1.0, fails=True)
    assert (one.breaker.room(1.0), one.breaker.closed, one.said) == (UNBOUNDED, True, [])


def retries_granted(budget: RetryBudget, first_attempts: int, wanted_each: int) -> int:
    granted = 0
    for _ in range(first_attempts):
        budget.deposit()
        granted += sum(budget.withdraw() for _ in range(wanted_each))
    return granted


@pytest.mark.parametrize("ratio", [0.1, 0.2, 0.5])
def test_under_total_failure_retries_are_the_declared_share_of_first_attempts(ratio: float) -> None:
    assert retries_granted(RetryBudget(ratio), 1000, 2) == int(FIRST_TOKENS) + round(1000 * ratio)


def test_a_quiet_time_saves_up_no_more_than_the_bucket_holds() -> None:
    budget = RetryBudget(0.2)
    retries_granted(budget, 10_000, 0)
    assert sum(budget.withdraw() for _ in range(100)) == MOST_TOKENS


def test_a_budget_of_nothing_grants_nothing_and_no_budget_everything() -> None:
    assert retries_granted(RetryBudget(0.0), 1000, 2) == 0
    assert retries_granted(RetryBudget(None), 1000, 2) == 2000
