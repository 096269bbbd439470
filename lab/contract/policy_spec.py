"""The admission policies a scenario may declare, with their thresholds. The rules themselves live in `lab.policies`.

Durations carry units (`350ms`, `2s`), ratios are `80%` or `0.8`, counts are whole numbers. Every policy also takes
`mode`, `why` and `estimate`, and every one but `none` takes `degrade`.
"""

from abc import abstractmethod
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, TypeAdapter, WithJsonSchema, model_serializer, model_validator

from lab.contract.messages import ModelName
from lab.contract.names import SERVICE_SAMPLES
from lab.contract.spec import Spec, SpecError
from lab.contract.units import Duration, Ratio, write_duration

Mode = Literal["off", "log_only", "enforce"]
Percentile = Annotated[float, Field(gt=0, lt=100)]
SampleCount = Annotated[int, Field(ge=1, le=SERVICE_SAMPLES)]


class EstimateSpec(Spec):
    """How a class's service time is expected from its last `samples` ones: their percentile, at least `floor`.

    A sample loses half its weight with every `half_life` of age; with `half_life: null` all weigh the same. Below
    `min_samples` the estimate is cold: the floor alone where there is one, else the percentile of what there is. An
    estimate that more than doubles within `drift_within` is said as an event `drift`.
    """

    percentile: Percentile = 95
    half_life: Annotated[Duration, Field(gt=0)] | None = 30.0
    samples: SampleCount = SERVICE_SAMPLES
    min_samples: SampleCount = 10
    floor: Duration = 0.0
    drift_within: Annotated[Duration, Field(gt=0)] = 60.0


class DeadlineSlackEstimate(EstimateSpec):
    """As drill 2 declares it: the plain p95 of the last 200, at least 350 ms, and 350 ms alone below 10 samples."""

    half_life: Annotated[Duration, Field(gt=0)] | None = None
    floor: Annotated[Duration, Field(gt=0)] = 0.35


class SlackV1Estimate(EstimateSpec):
    """As drill 4 declares it, cold below 50 samples; that the half-life is 30 s and the percentile 95 is ours."""

    min_samples: SampleCount = 50


class LowerThreshold(Spec):
    """A threshold written as a duration, such as `1s`."""

    duration: Annotated[Duration, Field(gt=0)]

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, value: object) -> object:
        return value if isinstance(value, dict | LowerThreshold) else {"duration": value}

    @model_serializer(when_used="json")
    def _to_text(self) -> str:
        return write_duration(self.duration)


def _at_form(value: object) -> str:
    """Which form `at` has, so that a wrong one is explained once and not once per form."""
    if isinstance(value, LowerThreshold | dict) or (isinstance(value, str) and not value.strip().endswith("%")):
        return "duration"
    return "count" if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else "ratio"


At = Annotated[
    Annotated[Ratio, Field(gt=0, lt=1), Tag("ratio")]
    | Annotated[int, Tag("count")]
    | Annotated[LowerThreshold, WithJsonSchema({"type": "string"}), Tag("duration")],
    Discriminator(_at_form),
]


class Degrade(Spec):
    """The third answer: from the threshold `at` up to the policy's own, a job is admitted, but for less.

    `at` is a fraction of the policy's threshold (`60%`, `0.6`) or a threshold of its own in that one's unit: a duration
    for queue_age, deadline_slack and slack_v1, a whole number for queue_depth. The slack policies bind from below, so
    there a fraction divides and a duration lies above: at 50 % a floor of 5 s degrades below 10 s of slack.
    The job gets at most `max_output_tokens`, or goes to the fallback `model`, which does it in `work_ratio` of its
    declared work. That tokens cut shorten the declared work too, in proportion past the first token, is ours.
    """

    at: At
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    model: ModelName | None = None
    work_ratio: Annotated[Ratio, Field(gt=0)] = 0.5

    @model_validator(mode="after")
    def _degrades_somehow(self) -> Self:
        if self.max_output_tokens is None and self.model is None:
            raise ValueError("this degrades nothing; give max_output_tokens, model or both")
        return self


class PolicySpecBase(Spec):
    """What every policy declares. `why` is the derivation of its threshold, printed in the report."""

    mode: Mode = "enforce"
    why: Annotated[str, Field(max_length=1000)] = ""
    estimate: EstimateSpec = EstimateSpec()


class NoPolicy(PolicySpecBase):
    """A: everything is admitted."""

    kind: Literal["none"]


class ThresholdPolicy(PolicySpecBase):
    """What every policy with a threshold may declare: an earlier one at which it degrades."""

    degrade: Degrade | None = None

    @model_validator(mode="after")
    def _degrades_earlier(self) -> Self:
        if self.degrade is not None:
            self._check_at(self.degrade.at)
        return self

    def _check_at(self, at: float | LowerThreshold) -> None:
        if not isinstance(at, float):
            raise SpecError("for this policy `at` is a fraction of its thresholds, such as 60%", "degrade", "at")

    def _refuse_at(self, at: object, right: str) -> None:
        shown = f"{at.duration:g} s" if isinstance(at, LowerThreshold) else f"{at}"
        raise SpecError(f"{shown} does not fit; write a fraction such as 60%, or {right}", "degrade", "at")


class QueueAgePolicy(ThresholdPolicy):
    """B: shed while the oldest undelivered entry is older than max_age."""

    kind: Literal["queue_age"]
    max_age: Annotated[Duration, Field(gt=0)]

    def _check_at(self, at: float | LowerThreshold) -> None:
        if isinstance(at, int) or (isinstance(at, LowerThreshold) and at.duration >= self.max_age):
            self._refuse_at(at, f"an age below {self.max_age:g} s")


class QueueDepthPolicy(ThresholdPolicy):
    """C: shed while more than max_depth entries are undelivered."""

    kind: Literal["queue_depth"]
    max_depth: Annotated[int, Field(ge=0)]

    def _check_at(self, at: float | LowerThreshold) -> None:
        if isinstance(at, LowerThreshold) or (isinstance(at, int) and at >= self.max_depth):
            self._refuse_at(at, f"a depth below {self.max_depth}")


class UtilizationPolicy(ThresholdPolicy):
    """D: shed while smoothed utilization is above max_utilization."""

    kind: Literal["utilization"]
    max_utilization: Ratio


class SlackPolicy(ThresholdPolicy):
    """What E and F share: the threshold is a slack, which binds from below."""

    @property
    @abstractmethod
    def least_slack_s(self) -> float:
        """The projected slack in seconds below which a request is shed."""

    def _check_at(self, at: float | LowerThreshold) -> None:
        floor_s = self.least_slack_s
        fits = at.duration > floor_s if isinstance(at, LowerThreshold) else not isinstance(at, int) and floor_s > 0
        if not fits:
            self._refuse_at(at, f"a slack above {floor_s:g} s")


class DeadlineSlackPolicy(SlackPolicy):
    """E: shed unless slack >= estimate + margin + wait. The numbers are those of drill 2.

    `wait: queued` reckons queued / slots x estimate; `wait: measured` takes the percentile of the queue waits measured
    last, the threshold drill 2 would start with (there with `margin: 0s`). With `max_slack` jobs that have more time
    than that are shed too, as published (1500ms there); absent, it binds nobody.
    """

    kind: Literal["deadline_slack"]
    margin: Duration = 0.25
    max_slack: Annotated[Duration, Field(gt=0)] | None = None
    wait: Literal["queued", "measured"] = "queued"
    estimate: DeadlineSlackEstimate = DeadlineSlackEstimate()

    @property
    def least_slack_s(self) -> float:
        """The margin."""
        return self.margin


class SlackV1Policy(SlackPolicy):
    """F: shed unless deadline - work ahead - estimate > slack_floor; acts as log_only while the class is cold."""

    kind: Literal["slack_v1"]
    slack_floor: Duration = 5.0
    estimate: SlackV1Estimate = SlackV1Estimate()

    @property
    def least_slack_s(self) -> float:
        """The slack floor."""
        return self.slack_floor


class AgeOrFullPolicy(ThresholdPolicy):
    """G: shed while the head is older than max_age, or in flight is full and more than depth_factor times that waits.

    The numbers of drill 1 are 25s, max_in_flight 4 (its workers) and 2.
    """

    kind: Literal["age_or_full"]
    max_age: Annotated[Duration, Field(gt=0)]
    max_in_flight: Annotated[int, Field(ge=1)]
    depth_factor: Annotated[float, Field(gt=0)] = 2.0


PolicySpec = Annotated[
    NoPolicy
    | QueueAgePolicy
    | QueueDepthPolicy
    | UtilizationPolicy
    | DeadlineSlackPolicy
    | SlackV1Policy
    | AgeOrFullPolicy,
    Field(discriminator="kind"),
]

# How a gate reads the policy that its environment names.
POLICY_ADAPTER: TypeAdapter[PolicySpec] = TypeAdapter(PolicySpec)
