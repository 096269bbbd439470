"""The third answer: between the earlier threshold and the policy's own a job is admitted for less."""

import pytest

from lab.contract.messages import JobRequest
from lab.contract.policy_spec import POLICY_ADAPTER, PolicySpec
from lab.policies.degrading import Degradation
from lab.policies.mode import ModedPolicy
from lab.policies.snapshot import AdmissionRequest, ServiceSample, Snapshot

REQUEST = AdmissionRequest("chat", "default", 30.0, 400, 60)
CUT = {"max_output_tokens": 20}


def spec(**fields: object) -> PolicySpec:
    return POLICY_ADAPTER.validate_python(fields)


def stack(age_s: float = 0.0, depth: int = 0, utilization_ratio: float = 0.0, work_ahead_s: float = 0.0) -> Snapshot:
    return Snapshot(1_000.0, age_s, depth, 4, 4, utilization_ratio, work_ahead_s)


def moded(declared: PolicySpec) -> ModedPolicy:
    samples = {"chat": tuple(ServiceSample("chat", 4.0, 1_000.0 - n) for n in range(60))}
    return ModedPolicy.of(declared).informed(samples, ())


LADDERS = [
    pytest.param(
        spec(kind="queue_age", max_age="2s", degrade={"at": "50%", **CUT}),
        (stack(age_s=1.0), stack(age_s=1.01), stack(age_s=2.01)),
        id="B at half its age",
    ),
    pytest.param(
        spec(kind="queue_age", max_age="2s", degrade={"at": "1500ms", **CUT}),
        (stack(age_s=1.5), stack(age_s=1.51), stack(age_s=2.01)),
        id="B at an age of its own",
    ),
    pytest.param(
        spec(kind="queue_depth", max_depth=10, degrade={"at": 4, **CUT}),
        (stack(depth=4), stack(depth=5), stack(depth=11)),
        id="C at a depth of its own",
    ),
    pytest.param(
        spec(kind="utilization", max_utilization="90%", degrade={"at": "80%", **CUT}),
        (stack(utilization_ratio=0.71), stack(utilization_ratio=0.73), stack(utilization_ratio=0.91)),
        id="D at 80 % of 90 %",
    ),
    # 4 s of service; a queue of n over 4 slots waits n s: slack 26 - n, margin 2 s, twice that at 50 %.
    pytest.param(
        spec(kind="deadline_slack", margin="2s", degrade={"at": "50%", **CUT}),
        (stack(depth=22), stack(depth=23), stack(depth=25)),
        id="E below twice its margin",
    ),
    # Slack 26 s - work ahead, floor 5 s.
    pytest.param(
        spec(kind="slack_v1", degrade={"at": "8s", **CUT}),
        (stack(work_ahead_s=17.9), stack(work_ahead_s=18.0), stack(work_ahead_s=21.0)),
        id="F below 8 s of slack",
    ),
    pytest.param(
        spec(kind="age_or_full", max_age="25s", max_in_flight=4, degrade={"at": "50%", **CUT}),
        (stack(depth=4), stack(depth=5), stack(depth=9)),
        id="G at half the queue when full",
    ),
]


@pytest.mark.parametrize(("declared", "snapshots"), LADDERS)
def test_a_job_is_admitted_degraded_then_shed_as_the_signal_rises(
    declared: PolicySpec, snapshots: tuple[Snapshot, ...]
) -> None:
    decided = [moded(declared).decide(snapshot, REQUEST) for snapshot in snapshots]
    assert [one.decision for one in decided] == ["admit", "degrade", "shed"]
    assert [one.retry_after_s is None for one in decided] == [True, True, False]
    assert decided[1].reason == decided[2].reason


@pytest.mark.parametrize(("declared", "snapshots"), LADDERS)
def test_log_only_says_that_it_would_degrade_and_off_does_not(
    declared: PolicySpec, snapshots: tuple[Snapshot, ...]
) -> None:
    logged, off = (
        moded(declared.model_copy(update={"mode": mode})).decide(snapshots[1], REQUEST) for mode in ("log_only", "off")
    )
    assert (logged.decision, logged.would) == ("admit", "degrade")
    assert (off.decision, off.would) == ("admit", "admit")


def test_a_job_that_asks_for_no_more_than_the_cut_is_admitted_as_it_is() -> None:
    policy = moded(spec(kind="queue_age", max_age="2s", degrade={"at": "50%", **CUT}))
    modest = AdmissionRequest("chat", "default", 30.0, 400, 20)
    assert policy.decide(stack(age_s=1.5), modest).decision == "admit"
    fallback = moded(spec(kind="queue_age", max_age="2s", degrade={"at": "50%", "model": "small"}))
    assert fallback.decide(stack(age_s=1.5), modest).decision == "degrade"


def test_a_deadline_that_cannot_be_met_is_shed_and_never_degraded() -> None:
    policy = moded(spec(kind="slack_v1", degrade={"at": "8s", **CUT}))
    hopeless = AdmissionRequest("chat", "default", 8.0, 400, 60)
    assert policy.decide(stack(), hopeless).reason == "deadline_unmeetable"
    assert policy.decide(stack(), hopeless).decision == "shed"


def test_a_cold_estimate_does_not_degrade() -> None:
    cold = ModedPolicy.of(spec(kind="slack_v1", degrade={"at": "8s", **CUT}))
    decided = cold.decide(stack(work_ahead_s=24.0), REQUEST)
    assert (decided.decision, decided.would) == ("admit", "degrade")


def request(**fields: object) -> JobRequest:
    return JobRequest.model_validate({"request_id": "r-1", "deadline_s": 30.0, "max_output_tokens": 61} | fields)


@pytest.mark.parametrize(
    ("degradation", "declared", "tokens", "work_s", "first_token_s"),
    [
        # 100 ms + 60 x 5 ms = 400 ms becomes 100 ms + 20 x 5 ms = 200 ms.
        pytest.param(
            Degradation(21, None, 0.5),
            request(work_s=0.4, first_token_s=0.1),
            21,
            0.2,
            0.1,
            id="fewer tokens after the first",
        ),
        pytest.param(Degradation(21, None, 0.5), request(work_s=6.1), 21, 2.1, None, id="in proportion"),
        pytest.param(
            Degradation(None, "small", 0.25), request(work_s=0.4, first_token_s=0.1), 61, 0.1, 0.025, id="fallback"
        ),
        pytest.param(Degradation(21, "small", 0.5), request(work_s=0.4, first_token_s=0.1), 21, 0.1, 0.05, id="both"),
        pytest.param(Degradation(99, None, 0.5), request(work_s=0.4), 61, 0.4, None, id="a cut that cuts nothing"),
        pytest.param(Degradation(1, None, 0.5), request(), 1, None, None, id="no declared work"),
        pytest.param(
            Degradation(1, None, 0.5), request(work_s=0.4, first_token_s=0.5), 1, 0.4, 0.5, id="first token last"
        ),
    ],
)
def test_a_degraded_job_has_fewer_tokens_and_less_declared_work(
    degradation: Degradation,
    declared: JobRequest,
    tokens: int,
    work_s: float | None,
    first_token_s: float | None,
) -> None:
    cut = degradation.applied(declared)
    assert cut.max_output_tokens == tokens
    assert cut.work_s == (None if work_s is None else pytest.approx(work_s))
    assert cut.first_token_s == (None if first_token_s is None else pytest.approx(first_token_s))
    assert (cut.request_id, cut.deadline_s) == (declared.request_id, declared.deadline_s)
