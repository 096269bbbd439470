"""Policies as declared: the drills' defaults, units, SPEED, and thresholds at which a policy degrades."""

import pytest
from pydantic import ValidationError

from lab.contract.environment import policy_json
from lab.contract.policy_spec import (
    POLICY_ADAPTER,
    AgeOrFullPolicy,
    DeadlineSlackPolicy,
    LowerThreshold,
    QueueAgePolicy,
    SlackV1Policy,
)
from lab.contract.speed import scaled

CUT = {"max_output_tokens": 8}
DECLARED = [
    {"kind": "none"},
    {"kind": "queue_age", "max_age": "2s", "degrade": {"at": "1s", **CUT}},
    {"kind": "queue_depth", "max_depth": 40, "degrade": {"at": 20, **CUT}},
    {"kind": "utilization", "max_utilization": "90%", "degrade": {"at": "80%", "model": "small"}},
    {"kind": "deadline_slack", "max_slack": "1500ms", "wait": "measured", "degrade": {"at": "500ms", **CUT}},
    {"kind": "slack_v1", "estimate": {"half_life": None, "percentile": 90}, "degrade": {"at": 0.5, **CUT}},
    {"kind": "age_or_full", "max_age": "25s", "max_in_flight": 4, "degrade": {"at": "50%", **CUT}},
]


def test_the_defaults_are_the_numbers_of_the_drills() -> None:
    slack = POLICY_ADAPTER.validate_python({"kind": "deadline_slack"})
    assert isinstance(slack, DeadlineSlackPolicy)
    estimate = slack.estimate
    assert (slack.margin, slack.max_slack, slack.wait) == (0.25, None, "queued")
    assert (estimate.percentile, estimate.half_life, estimate.samples) == (95, None, 200)
    assert (estimate.min_samples, estimate.floor) == (10, 0.35)
    projected = POLICY_ADAPTER.validate_python({"kind": "slack_v1"})
    assert isinstance(projected, SlackV1Policy)
    assert (projected.slack_floor, projected.estimate.min_samples, projected.estimate.samples) == (5.0, 50, 200)
    assert (projected.estimate.half_life, projected.estimate.drift_within) == (30.0, 60.0)


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: str(declared["kind"]))
def test_what_the_environment_says_of_a_policy_is_read_back_as_it_was(declared: dict[str, object]) -> None:
    policy = POLICY_ADAPTER.validate_python(declared)
    # As text: 350ms is 350 x 0.001 s, which is not quite the float 0.35.
    assert policy_json(POLICY_ADAPTER.validate_json(policy_json(policy))) == policy_json(policy)


def test_one_key_of_an_estimate_leaves_the_others_at_the_kinds_own_defaults() -> None:
    policy = POLICY_ADAPTER.validate_python({"kind": "deadline_slack", "estimate": {"floor": "1s"}})
    assert (policy.estimate.floor, policy.estimate.half_life, policy.estimate.min_samples) == (1.0, None, 10)


def test_speed_divides_every_duration_of_a_policy_also_where_it_degrades() -> None:
    policy = POLICY_ADAPTER.validate_python({"kind": "queue_age", "max_age": "20s", "degrade": {"at": "10s", **CUT}})
    faster = scaled(policy, 10)
    assert isinstance(faster, QueueAgePolicy)
    assert faster.degrade is not None
    assert (faster.max_age, faster.degrade.at) == (2.0, LowerThreshold.model_validate("1s"))
    assert (faster.estimate.half_life, faster.estimate.drift_within) == (3.0, 6.0)
    share = POLICY_ADAPTER.validate_python({"kind": "queue_age", "max_age": "20s", "degrade": {"at": "50%", **CUT}})
    assert isinstance(share, QueueAgePolicy)
    assert scaled(share, 10).degrade == share.degrade
    full = POLICY_ADAPTER.validate_python({"kind": "age_or_full", "max_age": "25s", "max_in_flight": 4})
    assert isinstance(full, AgeOrFullPolicy)
    assert (scaled(full, 10).max_age, scaled(full, 10).max_in_flight) == (2.5, 4)
    slack = POLICY_ADAPTER.validate_python({"kind": "deadline_slack", "max_slack": "1500ms"})
    assert isinstance(slack, DeadlineSlackPolicy)
    faster_slack = scaled(slack, 10)
    assert faster_slack.margin == 0.025
    assert faster_slack.max_slack == pytest.approx(0.15)
    assert faster_slack.estimate.floor == pytest.approx(0.035)
    assert faster_slack.estimate.half_life is None


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        ({"kind": "queue_age", "max_age": "2s", "degrade": {"at": "3s", **CUT}}, "an age below 2 s"),
        ({"kind": "queue_age", "max_age": "2s", "degrade": {"at": 3, **CUT}}, "an age below 2 s"),
        ({"kind": "queue_depth", "max_depth": 9, "degrade": {"at": 9, **CUT}}, "a depth below 9"),
        ({"kind": "queue_depth", "max_depth": 9, "degrade": {"at": "1s", **CUT}}, "a depth below 9"),
        ({"kind": "utilization", "max_utilization": 0.8, "degrade": {"at": "1s", **CUT}}, "a fraction of its"),
        ({"kind": "deadline_slack", "degrade": {"at": "200ms", **CUT}}, "a slack above 0.25 s"),
        ({"kind": "deadline_slack", "margin": "0s", "degrade": {"at": "50%", **CUT}}, "a slack above 0 s"),
        ({"kind": "slack_v1", "degrade": {"at": 7, **CUT}}, "a slack above 5 s"),
        ({"kind": "slack_v1", "degrade": {"at": "100%", **CUT}}, "less than 1"),
        ({"kind": "slack_v1", "degrade": {"at": "50%"}}, "degrades nothing"),
        ({"kind": "none", "degrade": {"at": "50%", **CUT}}, "Extra inputs"),
        ({"kind": "deadline_slack", "estimate": {"floor": "0s"}}, "greater than 0"),
        ({"kind": "slack_v1", "estimate": {"samples": 201}}, "less than or equal to 200"),
        ({"kind": "deadline_slack", "margin": 0.25}, "not a duration"),
    ],
)
def test_a_policy_that_cannot_be_is_refused_with_what_would_be_right(
    declared: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        POLICY_ADAPTER.validate_python(declared)
    assert sentence in str(refused.value)
