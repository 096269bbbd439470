import pytest

from worker.clock import READINGS_KEPT, Reading, RedisClock


def test_the_quickest_reading_is_believed() -> None:
    clock = RedisClock(lambda: 20.0)
    clock.observe(Reading(sent_at=1.0, received_at=3.0, redis_at=1000.0))
    clock.observe(Reading(sent_at=5.0, received_at=5.2, redis_at=1003.0))
    clock.observe(Reading(sent_at=7.0, received_at=8.0, redis_at=1009.0))
    assert clock.now() == pytest.approx(20.0 + 1003.0 - 5.1)
    assert clock.redis_at(5.1) == pytest.approx(1003.0)


def test_a_clock_that_was_set_is_followed_once_older_readings_are_forgotten() -> None:
    clock = RedisClock(lambda: 100.0)
    clock.observe(Reading(sent_at=0.0, received_at=0.0, redis_at=1000.0))
    for second in range(1, READINGS_KEPT):
        clock.observe(Reading(sent_at=second, received_at=second + 0.5, redis_at=5000.25 + second))
    assert clock.now() == pytest.approx(1100.0)
    clock.observe(Reading(sent_at=9.0, received_at=9.5, redis_at=5009.25))
    assert clock.now() == pytest.approx(5100.0)


def test_a_clock_never_read_says_so() -> None:
    with pytest.raises(RuntimeError, match="not read yet"):
        RedisClock().now()
