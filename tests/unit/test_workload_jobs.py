"""Classes, tokens, service times and deadlines from their laws."""

from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from lab.contract.workload_spec import JobClass, Service, Tokens, UniformDeadline
from lab.workload.jobs import class_indices, deadlines, service_times, tokens_at

GRID = (np.arange(20_000) + 0.5) / 20_000
TOKENS: TypeAdapter[Tokens] = TypeAdapter(Tokens)
SERVICE: TypeAdapter[Service] = TypeAdapter(Service)


def times(service: dict[str, Any], tokens_in: list[int], tokens_out: list[int]) -> tuple[list[float], list[float]]:
    quantiles = np.linspace(0, 1, len(tokens_in))
    whole, first = service_times(SERVICE.validate_python(service), np.array(tokens_in), np.array(tokens_out), quantiles)
    return whole.tolist(), first.tolist()


def test_classes_come_by_weight_and_one_without_weight_never() -> None:
    service = {"kind": "constant", "time": "1s"}
    classes = [
        JobClass.model_validate({"weight": weight, "service": service, "deadline": "1s"}) for weight in (3, 0, 1)
    ]
    counts = np.bincount(class_indices(classes, 10_000, np.random.default_rng(1)), minlength=3)
    assert counts[0] / 10_000 == pytest.approx(0.75, abs=0.03)
    assert counts[1] == 0


def test_uniform_tokens_take_both_ends_equally_often() -> None:
    tokens = tokens_at(TOKENS.validate_python({"kind": "uniform", "low": 3, "high": 5}), GRID)
    assert np.bincount(tokens).tolist() == pytest.approx([0, 0, 0, *[20_000 / 3] * 3], abs=2)


def test_lognormal_tokens_have_the_declared_mean_and_spread_and_are_cut() -> None:
    declared = {"kind": "lognormal", "mean": 60, "cv": 0.8, "most": 100_000}
    tokens = tokens_at(TOKENS.validate_python(declared), GRID)
    assert tokens.mean() == pytest.approx(60, rel=0.01)
    assert tokens.std() / tokens.mean() == pytest.approx(0.8, rel=0.02)
    assert tokens_at(TOKENS.validate_python({**declared, "most": 80}), GRID).max() == 80


def test_a_request_asks_for_one_token_at_least() -> None:
    assert tokens_at(TOKENS.validate_python({"kind": "lognormal", "mean": 0.01, "cv": 1, "most": 9}), GRID).min() == 1


def test_a_token_service_pays_for_the_prompt_first_and_then_for_each_token_after_the_first() -> None:
    service = {"kind": "tokens", "first_token": "100ms", "per_input_token": "1ms", "per_output_token": "5ms"}
    whole, first = times(service, [10, 200], [1, 61])
    assert first == pytest.approx([0.11, 0.3])
    assert whole == pytest.approx([0.11, 0.3 + 60 * 0.005])


@pytest.mark.parametrize(
    ("service", "whole", "first"),
    [
        ({"kind": "constant", "time": "2s"}, [2, 2], [0.5, 0.5]),
        ({"kind": "constant", "time": "2s", "first_token": "300ms"}, [2, 2], [0.3, 0.3]),
        ({"kind": "uniform", "low": "1s", "high": "3s"}, [1, 3], [0.25, 0.75]),
        ({"kind": "uniform", "low": "1s", "high": "3s", "first_token": "2s"}, [1, 3], [1, 2]),
    ],
    ids=["constant", "constant with first token", "uniform", "first token within the whole"],
)
def test_other_services_do_not_look_at_tokens(service: dict[str, Any], whole: list[float], first: list[float]) -> None:
    assert [*times(service, [1, 9], [1, 9])] == [pytest.approx(whole), pytest.approx(first)]


def test_a_deadline_is_the_same_for_all_or_drawn_between_its_ends() -> None:
    between = UniformDeadline.model_validate({"low": "1s", "high": "3s"})
    assert deadlines(7.0, np.array([0.1, 0.9])).tolist() == [7.0, 7.0]
    assert deadlines(between, np.array([0.0, 0.5])).tolist() == [1.0, 2.0]
