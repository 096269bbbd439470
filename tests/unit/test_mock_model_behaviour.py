import pytest
from pydantic import ValidationError

from mock_model.behaviour import (
    AT_REST,
    MOST_CHUNKS,
    Asked,
    Disturbance,
    Service,
    draw,
    fate,
    pieces,
    service,
)


def asked(number: int = 1, *, attempt: int = 1, max_tokens: int = 100, **declared: float) -> Asked:
    return Asked(f"request-{number}", attempt, "chat", max_tokens, **declared)


def test_a_draw_is_pinned_by_its_seed_and_what_is_drawn() -> None:
    assert draw(7, "request-1", 1, "failure") == draw(7, "request-1", 1, "failure") == 0.2102358849933138
    others = {draw(8, "request-1", 1, "failure"), draw(7, "request-1", 2, "failure"), draw(7, "request-1", 1, "stall")}
    assert len(others | {draw(7, "request-1", 1, "failure")}) == 4


def test_failures_and_stalls_come_as_often_as_declared() -> None:
    felt = Disturbance(failure_ratio=0.3, stall_ratio=0.5)
    fates = [fate(7, asked(number), felt) for number in range(4000)]
    assert fates.count("failed") / 4000 == pytest.approx(0.3, abs=0.03)
    assert fates.count("stalled") / 4000 == pytest.approx(0.7 * 0.5, abs=0.03)


def test_a_higher_ratio_fails_all_that_a_lower_one_fails_and_more() -> None:
    def failed(ratio: float) -> set[int]:
        felt = Disturbance(failure_ratio=ratio)
        return {number for number in range(500) if fate(7, asked(number), felt) == "failed"}

    assert failed(0.0) < failed(0.1) < failed(0.5) < failed(1.0) == set(range(500))


def test_each_attempt_has_a_draw_of_its_own() -> None:
    felt = Disturbance(failure_ratio=0.5)
    assert {fate(7, asked(attempt=attempt), felt) for attempt in range(1, 20)} == {"failed", "served"}


def test_a_disturbance_is_felt_by_its_classes_only() -> None:
    disturbance = Disturbance(slow_factor=3, classes=("batch",))
    assert disturbance.within("batch") == disturbance
    assert disturbance.within("chat") == AT_REST
    assert Disturbance(slow_factor=3).within("chat").slow_factor == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"slow_factor": 0.5},
        {"slow_factor": 1001},
        {"failure_ratio": 1.1},
        {"stall_ratio": -0.1},
        {"status": 200},
        {"classes": ["a b"]},
        {"slow_faktor": 2},
    ],
    ids=str,
)
def test_a_disturbance_that_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Disturbance.model_validate(wrong)


def test_declared_time_is_kept_to_the_microsecond() -> None:
    assert service(7, asked(work_s=0.4, first_token_s=0.1)) == Service(0.4, 0.1, 100)
    assert service(7, asked(work_s=0.4)) == Service(0.4, 0.1, 100)
    assert service(7, asked(work_s=0.4, first_token_s=0.1)).slowed(2.5) == Service(1.0, 0.25, 100)


def test_undeclared_time_follows_from_the_tokens_drawn() -> None:
    drawn = [service(7, asked(number)) for number in range(300)]
    assert drawn == [service(7, asked(number)) for number in range(300)]
    assert {min(one.tokens for one in drawn), max(one.tokens for one in drawn)} == {50, 100}
    assert all(one.first_token_s == 0.1 and one.work_s == pytest.approx(0.1 + 0.005 * one.tokens) for one in drawn)


@pytest.mark.parametrize("tokens", [1, 2, 5, 6, 7, 64, 10_000_000])
def test_content_comes_in_few_pieces_from_first_token_to_end(tokens: int) -> None:
    content = pieces(Service(2.0, 0.5, tokens))
    assert len(content) == min(MOST_CHUNKS, tokens)
    assert sum(piece.tokens for piece in content) == tokens
    assert min(piece.tokens for piece in content) >= 1
    assert content[0].due_s == 0.5
    assert [piece.due_s for piece in content] == sorted(piece.due_s for piece in content)
    if tokens > 1:
        assert content[-1].due_s == pytest.approx(2.0)
