"""What a client that was shed is told: never less than the hint, spread, the same for the same request."""

from hypothesis import given
from hypothesis import strategies as st

from lab.policies.retry_after import LONGEST_S, SHORTEST_S, SPREAD_RATIO, spread_retry_after_s


@given(hint_s=st.floats(-10, 1e9), name=st.text(min_size=1, max_size=80))
def test_it_lies_between_the_hint_and_half_as_much_again_within_what_can_be_said(hint_s: float, name: str) -> None:
    bounded_s = min(max(hint_s, SHORTEST_S), LONGEST_S)
    told_s = spread_retry_after_s(hint_s, name)
    assert bounded_s - 0.001 <= told_s <= bounded_s * (1 + SPREAD_RATIO) + 0.001
    assert told_s >= SHORTEST_S


def test_clients_told_at_the_same_moment_do_not_return_together() -> None:
    told_s = sorted(spread_retry_after_s(10.0, f"r-{number}") for number in range(1_000))
    # Evenly over 10 to 15 s: about 200 in each second, none of them nearly empty.
    per_second = [sum(second <= one < second + 1 for one in told_s) for second in range(10, 15)]
    assert (told_s[0] >= 10, told_s[-1] <= 15) == (True, True)
    assert min(per_second) > 130
    assert len(set(told_s)) > 800


def test_the_same_request_is_told_the_same() -> None:
    assert spread_retry_after_s(7.0, "r-1") == spread_retry_after_s(7.0, "r-1")
    assert spread_retry_after_s(7.0, "r-1") != spread_retry_after_s(7.0, "r-2")
