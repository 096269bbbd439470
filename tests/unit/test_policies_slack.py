"""E, F and G by hand: each bound just met and just missed, cold starts, declared variants, hints, what modes make."""

import pytest

from lab.contract.policy_spec import POLICY_ADAPTER
from lab.policies.age_or_full import AgeOrFull
from lab.policies.deadline_slack import DeadlineSlack
from lab.policies.decision import Decision, Forecast
from lab.policies.mode import ModedPolicy
from lab.policies.policy import Policy
from lab.policies.registry import build_policy
from lab.policies.rule import OUT_OF_REACH
from lab.policies.slack_v1 import SlackV1
from lab.policies.snapshot import AdmissionRequest, ServiceSample, Snapshot


def asked(deadline_s: float, job_class: str = "chat") -> AdmissionRequest:
    return AdmissionRequest(job_class, "default", deadline_s, 400, 60)


def stack(
    age_s: float = 0.0, depth: int = 0, in_flight: int = 0, slots: int = 3, work_ahead_s: float = 0.0
) -> Snapshot:
    return Snapshot(1_000.0, age_s, depth, in_flight, slots, 0.0, work_ahead_s)


def taught(policy: Policy, service_s: float, count: int, job_class: str = "chat") -> Policy:
    samples = {job_class: tuple(ServiceSample(job_class, service_s, 1_000.0 - n) for n in range(count))}
    return policy.informed(samples, ())


def declared(**fields: object) -> Policy:
    return build_policy(POLICY_ADAPTER.validate_python(fields))


DRILL_2 = declared(kind="deadline_slack")
DRILL_4 = taught(declared(kind="slack_v1"), 4.0, 200)
DRILL_1 = declared(kind="age_or_full", max_age="25s", max_in_flight=4)


@pytest.mark.parametrize(
    ("policy", "depth", "deadline_s", "verdict", "reason"),
    [
        # Cold: est = 350 ms; 12 queued for 3 workers wait 12/3 x 0.35 = 1.40 s; 0.35 + 0.25 + 1.40 = 2.00 s.
        pytest.param(DRILL_2, 12, 2.001, "admit", "admitted", id="just enough time for twelve queued"),
        pytest.param(DRILL_2, 12, 1.999, "shed", "deadline_slack", id="just too little for twelve"),
        # An empty queue leaves 0.35 + 0.25 = 0.60 s, which an idle system needs too.
        pytest.param(DRILL_2, 0, 0.601, "admit", "admitted", id="just enough for an idle system"),
        pytest.param(DRILL_2, 0, 0.599, "shed", "deadline_unmeetable", id="too little even when idle"),
        pytest.param(DRILL_2, 50, 0.599, "shed", "deadline_unmeetable", id="and however long the queue is"),
        # The slow provider once learnt: est = 1.2 s; 3 queued wait 1.2 s; 1.2 + 0.25 + 1.2 = 2.65 s.
        pytest.param(taught(DRILL_2, 1.2, 10), 3, 2.6, "shed", "deadline_slack", id="slow, learnt from ten"),
        pytest.param(taught(DRILL_2, 1.2, 9), 3, 2.6, "admit", "admitted", id="slow, the floor believed at nine"),
        pytest.param(taught(DRILL_2, 1.2, 10), 3, 2.651, "admit", "admitted", id="slow, just enough"),
        pytest.param(taught(DRILL_2, 1.2, 10), 0, 1.4, "shed", "deadline_unmeetable", id="slow, never enough"),
    ],
)
def test_deadline_slack_as_drill_2_declares_it(
    policy: Policy, depth: int, deadline_s: float, verdict: str, reason: str
) -> None:
    decided = policy.decide(stack(depth=depth), asked(deadline_s))
    assert (decided.decision, decided.reason) == (verdict, reason)


def test_the_numbers_of_deadline_slack_are_the_drills() -> None:
    # The claimed wait estimate of 610 ms is 610/350 = 1.743 queued per worker; 5 of 3 are 583 ms.
    decided = DRILL_2.decide(stack(depth=5), asked(1.5))
    forecast = forecast_of(decided)
    assert forecast.est_service_s == 0.35
    assert forecast.queue_ahead_s == pytest.approx(0.583333, abs=1e-6)
    assert forecast.slack_s == pytest.approx(0.566667, abs=1e-6)
    assert (forecast.slack_floor_s, forecast.estimator_n) == (0.25, 0)


def forecast_of(decided: Decision) -> Forecast:
    assert decided.forecast is not None
    return decided.forecast


def test_the_hint_of_deadline_slack_is_when_the_wait_has_fallen_enough() -> None:
    # 12 queued wait 1.40 s; a deadline of 1.5 s leaves 1.5 - 0.35 - 0.25 = 0.90 s for it; half a second too much.
    decided = DRILL_2.decide(stack(depth=12), asked(1.5))
    assert decided.retry_after_s == pytest.approx(0.5)
    assert not decided.futile


@pytest.mark.parametrize("policy", [DRILL_2, taught(DRILL_2, 1.2, 10), DRILL_4], ids=["E cold", "E", "F"])
def test_what_no_idle_system_meets_is_futile_until_its_deadline_has_passed(policy: Policy) -> None:
    decided = policy.decide(stack(), asked(0.5))
    assert (decided.reason, decided.futile, decided.retry_after_s) == ("deadline_unmeetable", True, 0.5)


def test_the_guard_as_published_sheds_what_has_too_much_time_and_says_when_it_has_less() -> None:
    guarded = declared(kind="deadline_slack", max_slack="1500ms")
    assert guarded.decide(stack(), asked(1.5)).decision == "admit"
    decided = guarded.decide(stack(), asked(2.6))
    assert (decided.decision, decided.reason, decided.futile) == ("shed", "slack_above_max", False)
    assert decided.retry_after_s == pytest.approx(1.1)


def test_the_variant_with_one_measured_wait_takes_its_p95_whatever_is_queued() -> None:
    # Waits of 1 to 100 s: p95 = 95 s; est 350 ms, no margin: 95.35 s are needed.
    variant = declared(kind="deadline_slack", wait="measured", margin="0s")
    variant = variant.informed({}, [float(number) for number in range(1, 101)])
    assert variant.decide(stack(depth=9_999), asked(95.36)).decision == "admit"
    decided = variant.decide(stack(depth=0), asked(95.34))
    assert (decided.decision, decided.reason) == ("shed", "deadline_slack")
    assert decided.retry_after_s == pytest.approx(0.01)
    assert variant.informed({}, ()).decide(stack(), asked(0.36)).decision == "admit"


def test_the_numbers_of_deadline_slack_can_be_declared() -> None:
    estimate = {"floor": "1s", "min_samples": 2, "percentile": 50, "samples": 4}
    policy = taught(declared(kind="deadline_slack", margin="1s", estimate=estimate), 3.0, 2)
    assert policy.decide(stack(), asked(4.01)).decision == "admit"
    assert policy.decide(stack(), asked(3.99)).decision == "shed"


def test_without_a_live_worker_the_queue_is_reckoned_as_one_slot_would_serve_it() -> None:
    # 3 x 0.35 = 1.05 s behind no worker; 0.35 + 0.25 + 1.05 = 1.65 s.
    assert DRILL_2.decide(stack(depth=3, slots=0), asked(1.66)).decision == "admit"
    assert DRILL_2.decide(stack(depth=3, slots=0), asked(1.64)).decision == "shed"


@pytest.mark.parametrize(
    ("work_ahead_s", "verdict"),
    [
        # Deadline 30 s, service 4 s, floor 5 s: slack stays above the floor while less than 21 s are ahead.
        pytest.param(20.99, "admit", id="slack 5.01 s"),
        pytest.param(21.0, "shed", id="slack 5.00 s, which is not above the floor"),
        pytest.param(40.0, "shed", id="slack negative"),
    ],
)
def test_slack_v1_as_drill_4_declares_it(work_ahead_s: float, verdict: str) -> None:
    decided = DRILL_4.decide(stack(work_ahead_s=work_ahead_s), asked(30.0))
    forecast = forecast_of(decided)
    assert decided.decision == verdict
    assert forecast.slack_s == pytest.approx(26.0 - work_ahead_s)
    assert (forecast.slack_floor_s, forecast.estimator_n) == (5.0, 200)


def test_the_hint_of_slack_v1_is_the_work_too_much() -> None:
    assert DRILL_4.decide(stack(work_ahead_s=23.5), asked(30.0)).retry_after_s == pytest.approx(2.5)


def test_large_jobs_of_drill_4_are_never_in_time_once_tripled() -> None:
    # 36 s of service against a deadline of 30 s.
    tripled = taught(DRILL_4, 36.0, 60, "large")
    assert tripled.decide(stack(), asked(30.0, "large")).reason == "deadline_unmeetable"


def test_slack_v1_only_logs_below_fifty_samples_of_the_class() -> None:
    cold = taught(declared(kind="slack_v1"), 4.0, 49)
    decided = cold.decide(stack(work_ahead_s=99.0), asked(30.0))
    assert (decided.decision, decided.would, decided.mode) == ("admit", "shed", "log_only")
    assert decided.reason == "deadline_slack"
    assert decided.retry_after_s is None
    warm = taught(declared(kind="slack_v1"), 4.0, 50).decide(stack(work_ahead_s=99.0), asked(30.0))
    assert (warm.decision, warm.mode) == ("shed", "enforce")


def test_one_class_may_be_cold_while_another_is_not() -> None:
    moded = ModedPolicy(DRILL_4, "enforce")
    assert moded.mode_for(asked(30.0)) == "enforce"
    assert moded.mode_for(asked(30.0, "new")) == "log_only"
    assert ModedPolicy(DRILL_4, "off").mode_for(asked(30.0, "new")) == "off"


@pytest.mark.parametrize(
    ("snapshot", "verdict", "reason"),
    [
        pytest.param(stack(age_s=25.0), "admit", "admitted", id="at the age limit"),
        pytest.param(stack(age_s=25.1), "shed", "queue_age", id="above it, whatever is in flight"),
        pytest.param(stack(in_flight=4, depth=8), "admit", "admitted", id="full, and twice as many queued"),
        pytest.param(stack(in_flight=4, depth=9), "shed", "queue_full", id="full, and more than twice as many"),
        pytest.param(stack(in_flight=3, depth=99), "admit", "admitted", id="deep, and not full"),
        pytest.param(stack(in_flight=5, depth=9), "shed", "queue_full", id="more in flight than there may be"),
        pytest.param(stack(age_s=31.2, in_flight=4, depth=9), "shed", "queue_age", id="both: its age is the reason"),
    ],
)
def test_age_or_full_as_drill_1_declares_it(snapshot: Snapshot, verdict: str, reason: str) -> None:
    decided = DRILL_1.decide(snapshot, asked(60.0))
    assert (decided.decision, decided.reason) == (verdict, reason)


def test_the_hints_of_age_or_full_are_those_of_age_and_depth() -> None:
    assert DRILL_1.decide(stack(age_s=31.2), asked(60.0)).retry_after_s == 31.2
    # 20 s for ten queued is one each two seconds; two have to go.
    full = stack(age_s=20.0, in_flight=4, depth=10)
    assert DRILL_1.decide(full, asked(60.0)).retry_after_s == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("fields", "policy"),
    [
        ({"kind": "deadline_slack"}, DeadlineSlack(0.25)),
        ({"kind": "deadline_slack", "max_slack": "1500ms", "wait": "measured"}, DeadlineSlack(0.25, 1.5, "measured")),
        ({"kind": "slack_v1"}, SlackV1(5.0)),
        ({"kind": "age_or_full", "max_age": "25s", "max_in_flight": 4}, AgeOrFull(25.0, 4, 2.0)),
    ],
)
def test_every_declared_kind_is_built_with_its_thresholds(fields: dict[str, object], policy: Policy) -> None:
    built = declared(**fields)
    assert built.with_book(policy.book) == policy


OVERLOADED = stack(age_s=99.0, depth=999, in_flight=99, work_ahead_s=999.0)


@pytest.mark.parametrize("policy", [DRILL_1, DRILL_2, DRILL_4], ids=["G", "E", "F"])
def test_only_enforce_sheds_and_log_only_says_what_it_would(policy: Policy) -> None:
    enforced, logged, off = (
        ModedPolicy(policy, mode).decide(OVERLOADED, asked(20.0)) for mode in ("enforce", "log_only", "off")
    )
    assert (enforced.decision, enforced.would) == ("shed", "shed")
    assert (logged.decision, logged.would, logged.reason) == ("admit", "shed", enforced.reason)
    assert (off.decision, off.would, off.reason) == ("admit", "admit", "admitted")
    assert enforced.forecast == logged.forecast == off.forecast


@pytest.mark.parametrize("policy", [DRILL_1, DRILL_2, DRILL_4, declared(kind="queue_age", max_age="2s")])
@pytest.mark.parametrize("deadline_s", [0.1, 20.0])
def test_mode_off_is_a_huge_threshold_on_the_same_rules(policy: Policy, deadline_s: float) -> None:
    request = asked(deadline_s)
    enforced, off = (ModedPolicy(policy, mode).rules(request) for mode in ("enforce", "off"))
    assert [(rule.action, rule.reason) for rule in off] == [(rule.action, rule.reason) for rule in enforced]
    assert {condition.limit for rule in off for condition in rule.conditions} == {OUT_OF_REACH}
    assert all(rule.conditions for rule in off)


def test_bypass_and_a_huge_age_threshold_decide_alike_by_the_same_rules() -> None:
    off = ModedPolicy(declared(kind="age_or_full", max_age="25s", max_in_flight=4), "off")
    huge = ModedPolicy(declared(kind="age_or_full", max_age="100000h", max_in_flight=10**9), "enforce")
    shape = [
        [[(rule.action, rule.reason, [(c.signal, c.comparison) for c in rule.conditions])] for rule in rules]
        for rules in (off.rules(asked(60.0)), huge.rules(asked(60.0)))
    ]
    assert shape[0] == shape[1]
    for moded in (off, huge):
        decided = moded.decide(OVERLOADED, asked(60.0))
        assert (decided.decision, decided.would, decided.reason) == ("admit", "admit", "admitted")
