"""Each policy's rule at, below and above its limit, what it says with it, and what the modes make of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.contract.policy_spec import POLICY_ADAPTER, Mode
from lab.policies.mode import ModedPolicy
from lab.policies.none import AdmitAll
from lab.policies.policy import Policy
from lab.policies.queue_age import QueueAge
from lab.policies.queue_depth import QueueDepth
from lab.policies.registry import build_policy
from lab.policies.rule import Condition, Rule, first_holding
from lab.policies.snapshot import SIGNALS, AdmissionRequest, ServiceSample, Snapshot
from lab.policies.utilization import Utilization

REQUEST = AdmissionRequest("chat", "default", 7.0, 400, 60)
IDLE = Snapshot(1_000.0, 0.0, 0, 0, 8, 0.0)
BUSY = Snapshot(1_000.0, 100.0, 1_000, 8, 8, 1.0)


def seen(age_s: float = 0.0, depth: int = 0, utilization_ratio: float = 0.0) -> Snapshot:
    return Snapshot(1_000.0, age_s, depth, 0, 8, utilization_ratio)


@pytest.mark.parametrize(
    ("policy", "snapshot", "decision", "reason"),
    [
        pytest.param(AdmitAll(), BUSY, "admit", "admitted", id="A admits whatever the load"),
        pytest.param(QueueAge(2.0), seen(age_s=2.0), "admit", "admitted", id="B admits at the limit"),
        pytest.param(QueueAge(2.0), seen(age_s=2.001), "shed", "queue_age", id="B sheds above the limit"),
        pytest.param(
            QueueAge(2.0), seen(depth=1_000, utilization_ratio=1.0), "admit", "admitted", id="B sees age only"
        ),
        pytest.param(QueueDepth(10), seen(depth=10), "admit", "admitted", id="C admits the eleventh"),
        pytest.param(QueueDepth(10), seen(depth=11), "shed", "queue_depth", id="C sheds the twelfth"),
        pytest.param(
            QueueDepth(10), seen(age_s=99, utilization_ratio=1.0), "admit", "admitted", id="C sees depth only"
        ),
        pytest.param(QueueDepth(0), seen(depth=0), "admit", "admitted", id="C at 0 lets one wait"),
        pytest.param(Utilization(0.8), seen(utilization_ratio=0.8), "admit", "admitted", id="D admits at the limit"),
        pytest.param(
            Utilization(0.8), seen(utilization_ratio=0.81), "shed", "utilization", id="D sheds above the limit"
        ),
        pytest.param(Utilization(0.8), seen(age_s=99, depth=99), "admit", "admitted", id="D sees utilization only"),
    ],
)
def test_a_policy_decides_by_its_own_signal(policy: Policy, snapshot: Snapshot, decision: str, reason: str) -> None:
    decided = policy.decide(snapshot, REQUEST)
    assert (decided.decision, decided.would, decided.reason) == (decision, decision, reason)


def test_a_decision_carries_every_signal_and_the_limit_that_was_crossed() -> None:
    numbers = QueueAge(2.0).decide(BUSY, REQUEST).numbers
    assert numbers == {signal: getattr(BUSY, signal) for signal in SIGNALS} | {"limit_queue_age_s": 2.0}


@pytest.mark.parametrize(
    ("policy", "snapshot", "retry_after_s"),
    [
        pytest.param(QueueAge(2.0), seen(age_s=3.5), 3.5, id="B: as long as its head has waited"),
        pytest.param(QueueDepth(10), seen(age_s=4.0, depth=20), 2.0, id="C: half the queue at 20 jobs in 4 s"),
        pytest.param(QueueDepth(10), seen(age_s=0.0, depth=20), 0.0, id="C: no age, no pace"),
        pytest.param(Utilization(0.8), seen(utilization_ratio=1.0), 1.0, id="D: the shortest there is"),
        pytest.param(Utilization(0.8), seen(age_s=3.0, utilization_ratio=1.0), 3.0, id="D: while a queue is served"),
    ],
)
def test_a_shed_says_when_to_come_back(policy: Policy, snapshot: Snapshot, retry_after_s: float) -> None:
    assert policy.decide(snapshot, REQUEST).retry_after_s == pytest.approx(retry_after_s)


def test_an_admission_says_no_time_to_come_back() -> None:
    assert QueueAge(2.0).decide(IDLE, REQUEST).retry_after_s is None


@pytest.mark.parametrize(
    ("mode", "decision", "would", "reason", "retry_after_s"),
    [
        ("off", "admit", "admit", "admitted", None),
        ("log_only", "admit", "shed", "queue_age", None),
        ("enforce", "shed", "shed", "queue_age", 100.0),
    ],
)
def test_only_enforce_sheds_and_log_only_says_what_it_would(
    mode: Mode, decision: str, would: str, reason: str, retry_after_s: float | None
) -> None:
    decided = ModedPolicy(QueueAge(2.0), mode).decide(BUSY, REQUEST)
    assert (decided.decision, decided.would, decided.reason) == (decision, would, reason)
    assert decided.retry_after_s == retry_after_s


def test_a_rule_has_its_effect_only_when_it_is_enforced() -> None:
    shed = Rule("shed", "x", (), lambda _: 1.0)
    degrade = Rule("degrade", "x", (), lambda _: 1.0)
    assert ModedPolicy(AdmitAll(), "enforce").effect(shed, REQUEST) == "shed"
    assert ModedPolicy(AdmitAll(), "enforce").effect(degrade, REQUEST) == "degrade"
    assert ModedPolicy(AdmitAll(), "log_only").effect(shed, REQUEST) is None


def test_the_first_rule_whose_conditions_all_hold_decides() -> None:
    old_and_deep = (Condition("queue_age_s", ">", 5.0), Condition("queue_depth", ">=", 3))
    rules = (Rule("shed", "both", old_and_deep, lambda _: 1.0), Rule("degrade", "old", old_and_deep[:1], lambda _: 1.0))
    assert first_holding(rules, seen(age_s=6.0, depth=3)) == rules[0]
    assert first_holding(rules, seen(age_s=6.0, depth=2)) == rules[1]
    assert first_holding(rules, seen(age_s=5.0, depth=3)) is None


@pytest.mark.parametrize(
    ("declared", "policy"),
    [
        ({"kind": "none"}, AdmitAll()),
        ({"kind": "queue_age", "max_age": "2s"}, QueueAge(2.0)),
        ({"kind": "queue_depth", "max_depth": 40}, QueueDepth(40)),
        ({"kind": "utilization", "max_utilization": "80%"}, Utilization(0.8)),
    ],
)
def test_every_declared_kind_is_built_with_its_threshold(declared: dict[str, object], policy: Policy) -> None:
    assert build_policy(POLICY_ADAPTER.validate_python(declared)) == policy


@pytest.mark.parametrize("policy", [AdmitAll(), QueueAge(2.0), QueueDepth(10), Utilization(0.8)], ids=repr)
def test_a_policy_without_slack_learns_what_to_expect_and_decides_as_before(policy: Policy) -> None:
    taught = policy.observe(ServiceSample("chat", 1.5, 1_000.0))
    bounds = [[(rule.reason, rule.conditions) for rule in one.rules(REQUEST)] for one in (taught, policy)]
    assert bounds[0] == bounds[1]
    forecast = taught.decide(IDLE, REQUEST).forecast
    assert forecast is not None
    assert (forecast.est_service_s, forecast.estimator_n, forecast.slack_s) == (1.5, 1, 5.5)


@given(limit_s=st.floats(0.001, 100), low_s=st.floats(0, 200), high_s=st.floats(0, 200))
def test_an_older_head_never_turns_a_shed_into_an_admission(limit_s: float, low_s: float, high_s: float) -> None:
    younger, older = sorted((low_s, high_s))
    policy = QueueAge(limit_s)
    if policy.decide(seen(age_s=younger), REQUEST).decision == "shed":
        assert policy.decide(seen(age_s=older), REQUEST).decision == "shed"
