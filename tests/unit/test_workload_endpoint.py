"""Service times without any wait, at rest and under each fault."""

from typing import Any

import pytest

from lab.workload.endpoint import Endpoint, endpoints_at_rest, under
from tests.unit.workload_scenarios import fault, played, scenario

INFINITY = float("inf")


def struck(*faults: dict[str, Any], attempts: int = 1) -> Endpoint:
    return under(endpoints_at_rest(scenario())["chat"][0], "chat", scenario(*faults).faults, attempts)


@pytest.mark.parametrize("stream", ["upstream", "downstream"])
def test_latency_on_the_link_to_the_model_counts_once_to_the_first_token_and_to_the_whole(stream: str) -> None:
    endpoint = struck(fault("latency", latency="800ms", jitter="200ms", stream=stream))
    assert endpoint.mean_service_s == pytest.approx(1.2)
    assert endpoint.first_token_quantile_s(0.95) == pytest.approx(0.9)
    assert endpoint.served_ratio == 1


def test_latency_on_another_link_leaves_the_model_as_it_was() -> None:
    assert struck(fault("latency", latency="800ms", link="redis")).mean_service_s == pytest.approx(0.4)


def test_a_toxic_on_some_connections_strikes_that_share_of_the_jobs() -> None:
    endpoint = struck(fault("latency", latency="800ms", toxicity=0.1))
    assert endpoint.mean_service_s == pytest.approx(0.4 + 0.1 * 0.8)
    assert endpoint.first_token_quantile_s(0.89) == pytest.approx(0.1)
    assert endpoint.first_token_quantile_s(0.91) == pytest.approx(0.9)


def test_a_slow_model_is_slow_by_its_factor_for_the_classes_named() -> None:
    endpoint = struck(fault("model", slow_factor=3, classes=["chat"]))
    assert endpoint.mean_service_s == pytest.approx(1.2)
    assert endpoint.first_token_quantile_s(0.5) == pytest.approx(0.3)
    declared = scenario(fault("model", slow_factor=3, classes=["chat"])).faults
    assert under(endpoint, "batch", declared, 1).mean_service_s == endpoint.mean_service_s


def test_faults_that_overlap_add_up() -> None:
    both = struck(fault("model", slow_factor=3), fault("latency", latency="800ms"))
    assert both.mean_service_s == pytest.approx(2.0)


@pytest.mark.parametrize(
    "lost",
    [
        fault("proxy_down"),
        fault("timeout", timeout="0s"),
        fault("model", stall_ratio=1),
        fault("process", service="model", action="pause"),
    ],
    ids=["proxy down", "timeout", "stall", "model paused"],
)
def test_where_no_answer_comes_nothing_is_served(lost: dict[str, Any]) -> None:
    endpoint = struck(lost)
    assert endpoint.served_ratio == 0
    assert endpoint.first_token_quantile_s(0.01) == endpoint.service_quantile_s(0.01) == INFINITY


def test_failures_lose_jobs_unless_another_attempt_helps() -> None:
    failing = fault("model", failure_ratio=0.2)
    assert struck(failing).served_ratio == pytest.approx(0.8)
    assert struck(failing).first_token_quantile_s(0.95) == INFINITY
    assert struck(failing, attempts=2).served_ratio == pytest.approx(0.96)


def test_the_prompts_length_counts_in_the_first_tokens_spread() -> None:
    chat = {
        "input_tokens": {"kind": "uniform", "low": 1, "high": 1000},
        "service": {"kind": "tokens", "first_token": "0s", "per_input_token": "1ms", "per_output_token": "0s"},
        "deadline": "7s",
    }
    endpoint = endpoints_at_rest(scenario(classes={"chat": chat}))["chat"][0]
    assert endpoint.first_token_quantile_s(0.95) == pytest.approx(0.95, abs=0.002)


def test_shares_follow_the_weights_and_a_class_without_weight_is_left_out() -> None:
    chat = scenario().workload.classes["chat"].model_dump(exclude={"weight", "deadline", "service"})
    given = {"service": {"kind": "constant", "time": "1s"}, "deadline": "7s", **chat}
    weights = {"one": 1, "three": 3, "none": 0}
    classes = {name: {**given, "weight": weight} for name, weight in weights.items()}
    assert {name: share for name, (_, share) in endpoints_at_rest(scenario(classes=classes)).items()} == {
        "one": 0.25,
        "three": 0.75,
    }


def test_a_replays_endpoint_is_read_off_its_schedule() -> None:
    replay = scenario(arrivals={"kind": "replay", "file": "trace.csv"})
    endpoint, share = endpoints_at_rest(replay, played((0, 1.0), (1, 3.0)))["chat"]
    assert (endpoint.mean_service_s, share) == (2.0, 1.0)
