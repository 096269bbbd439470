"""The workload of a scenario: when requests are due, and what each one asks for."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from lab.contract.spec import Spec, SpecError
from lab.contract.units import Duration, Rate, RecordedDuration, Scale

PositiveCount = Annotated[int, Field(gt=0)]


class ConstantArrivals(Spec):
    """One request every 1/rate seconds, the first at time 0."""

    kind: Literal["constant"]
    rate: Rate


class PoissonArrivals(Spec):
    """A Poisson process: independent exponential gaps with mean 1/rate."""

    kind: Literal["poisson"]
    rate: Rate


class Stage(Spec):
    """A stretch of time in which the rate moves in a straight line."""

    lasts: Duration
    start_rate: Rate
    end_rate: Rate


class StagedArrivals(Spec):
    """Ramps and steps: stages one after another; a step is a stage with equal rates."""

    kind: Literal["stages"]
    process: Literal["poisson", "constant"] = "poisson"
    stages: Annotated[tuple[Stage, ...], Field(min_length=1)]


class OnOffArrivals(Spec):
    """Bursts: Poisson at `on_rate` and `off_rate` by turns, each turn exponentially long with the given mean."""

    kind: Literal["on_off"]
    on_rate: Rate
    off_rate: Rate = 0.0
    mean_on: Duration
    mean_off: Duration


class ReplayArrivals(Spec):
    """A CSV with a header `timestamp, tokens in, tokens out`, as the public LLM traces have.

    Timestamps are seconds or ISO date-times. `time_scale` 2 plays twice as fast; `rate_scale` 0.5 keeps every request
    with probability 0.5, above 1 repeats requests. A relative `file` is looked up beside the scenario.
    """

    kind: Literal["replay"]
    file: str
    timestamp_column: str = "TIMESTAMP"
    input_tokens_column: str = "ContextTokens"
    output_tokens_column: str = "GeneratedTokens"
    skip: RecordedDuration = 0.0
    time_scale: Annotated[float, Field(gt=0), Scale(1)] = 1.0
    rate_scale: Annotated[float, Field(gt=0)] = 1.0


Arrivals = Annotated[
    ConstantArrivals | PoissonArrivals | StagedArrivals | OnOffArrivals | ReplayArrivals, Field(discriminator="kind")
]


class ConstantTokens(Spec):
    """The same count for every request."""

    kind: Literal["constant"]
    value: PositiveCount


class UniformTokens(Spec):
    """A whole number from low to high, both included."""

    kind: Literal["uniform"]
    low: PositiveCount
    high: PositiveCount

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise SpecError(f"low is {self.low} and high is {self.high}; low must not be above high", "low")
        return self


class LognormalTokens(Spec):
    """A log-normal count with this mean and coefficient of variation (standard deviation / mean), cut at `most`."""

    kind: Literal["lognormal"]
    mean: Annotated[float, Field(gt=0)]
    cv: Annotated[float, Field(gt=0, le=10)]
    most: PositiveCount


Tokens = Annotated[ConstantTokens | UniformTokens | LognormalTokens, Field(discriminator="kind")]


class TokenService(Spec):
    """Service time from tokens: time to first token, then a fixed time per output token after the first."""

    kind: Literal["tokens"]
    first_token: Duration
    per_input_token: Duration = 0.0
    per_output_token: Duration


class ConstantService(Spec):
    """The same service time for every request; `first_token` of it passes before the first token."""

    kind: Literal["constant"]
    time: Duration
    first_token: Duration | None = None


class UniformService(Spec):
    """A service time drawn evenly between low and high; a quarter of it passes before the first token unless said."""

    kind: Literal["uniform"]
    low: Duration
    high: Duration
    first_token: Duration | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise SpecError(f"low is {self.low:g} s and high is {self.high:g} s; low must not be above high", "low")
        return self


Service = Annotated[TokenService | ConstantService | UniformService, Field(discriminator="kind")]


class UniformDeadline(Spec):
    """A deadline drawn evenly between low and high, counted from the due time."""

    low: Duration
    high: Duration

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low > self.high:
            raise SpecError(f"low is {self.low:g} s and high is {self.high:g} s; low must not be above high", "low")
        return self


def _deadline_form(value: object) -> str:
    """Which form a deadline has, so that a wrong one is explained once and not once per form."""
    return "range" if isinstance(value, dict | UniformDeadline) else "duration"


Deadline = Annotated[
    Annotated[Duration, Tag("duration")] | Annotated[UniformDeadline, Tag("range")], Discriminator(_deadline_form)
]


class JobClass(Spec):
    """A kind of request; `weight` is its share of the arrivals, relative to the other classes."""

    weight: Annotated[float, Field(ge=0)] = 1.0
    tenant: Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,40}$")] = "default"
    input_tokens: Tokens = ConstantTokens(kind="constant", value=200)
    output_tokens: Tokens = ConstantTokens(kind="constant", value=64)
    service: Service
    deadline: Deadline


class Workload(Spec):
    """The arrivals, open loop, fixed by the seed."""

    seed: Annotated[int, Field(ge=0, lt=2**63)]
    duration: Annotated[Duration, Field(gt=0)]
    arrivals: Arrivals
    classes: Annotated[dict[Annotated[str, Field(pattern=r"^[a-z0-9_]{1,40}$")], JobClass], Field(min_length=1)]

    @property
    def shortest_deadline_s(self) -> float:
        """The shortest deadline that a job of any class may be given, in seconds."""
        declared = [job_class.deadline for job_class in self.classes.values()]
        return min(deadline.low if isinstance(deadline, UniformDeadline) else deadline for deadline in declared)

    @model_validator(mode="after")
    def _plays_something(self) -> Self:
        if sum(job_class.weight for job_class in self.classes.values()) <= 0:
            raise SpecError("the weights of all classes sum to 0; give at least one class a weight above 0", "classes")
        if isinstance(self.arrivals, StagedArrivals):
            total = sum(stage.lasts for stage in self.arrivals.stages)
            if abs(total - self.duration) > 1e-6 * self.duration:
                raise SpecError(
                    f"the stages last {total:g} s and duration is {self.duration:g} s; they must be equal",
                    "arrivals",
                    "stages",  # the kind, as pydantic writes paths
                    "stages",
                )
        return self
