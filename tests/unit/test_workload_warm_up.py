"""Estimators are warmed with what a class takes at rest."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from lab.workload.schedule import make_schedule
from lab.workload.warm_up import warm_samples
from tests.unit.workload_scenarios import drill_4, scenario

UNIFORM = {"service": {"kind": "uniform", "low": "1s", "high": "3s"}, "deadline": "9s"}


def samples_of(**changes: Any) -> dict[str, list[tuple[float, float]]]:
    declared = scenario(**changes)
    return warm_samples(declared, make_schedule(declared.workload, 1, Path()), 200)


def test_a_class_is_given_as_many_as_asked_for_spread_over_its_own_distribution() -> None:
    pairs = samples_of(classes={"chat": UNIFORM})["chat"]
    services = sorted(service_s for _, service_s in pairs)
    assert len(services) == 200
    assert services[0] == pytest.approx(1.0, abs=0.02)
    assert services[99] == pytest.approx(2.0, abs=0.02)
    assert services[-1] == pytest.approx(3.0, abs=0.02)


def test_the_newest_comes_first_and_ages_are_those_of_the_arrivals() -> None:
    ages = [age_s for age_s, _ in samples_of(arrivals={"kind": "constant", "rate": "10/s"})["chat"]]
    assert ages[0] == 0
    assert ages[1] == pytest.approx(0.1)
    assert ages == sorted(ages)


def test_the_same_seed_gives_the_same_samples_in_an_order_without_trend() -> None:
    once, again = (samples_of(classes={"chat": UNIFORM}) for _ in range(2))
    assert once == again
    services = [service_s for _, service_s in once["chat"]]
    assert services != sorted(services)
    assert sum(services[:100]) == pytest.approx(sum(services[100:]), rel=0.1)


def test_a_fault_of_later_is_not_in_the_samples_of_before() -> None:
    declared = drill_4()
    samples = warm_samples(declared, make_schedule(declared.workload, 1, Path()), 50)
    assert {name: {service_s for _, service_s in pairs} for name, pairs in samples.items()} == {
        "small": {0.8},
        "medium": {4.0},
        "large": {12.0},
    }


def test_only_the_arms_named_are_warmed() -> None:
    policies = {"A": {"kind": "none"}, "B": {"kind": "queue_depth", "max_depth": 4}}
    everyone = scenario(policies=policies, warm_up={"completions": 80})
    assert (everyone.warms("A"), everyone.warms("B")) == (80, 80)
    chosen = scenario(policies=policies, warm_up={"policies": ["B"]})
    assert (chosen.warms("A"), chosen.warms("B")) == (0, 200)
    assert scenario().warms("A") == 0


def test_an_arm_that_is_not_declared_cannot_be_warmed() -> None:
    with pytest.raises(ValidationError, match="policy X is not declared"):
        scenario(warm_up={"policies": ["X"]})
