"""One drill as declared: the whole scenario file as typed values. `lab.contract.loading` reads it from YAML."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from lab.contract.alert_spec import Alert
from lab.contract.fault_spec import AnyFault, Fault, ModelFault, ProcessFault, RouteFault
from lab.contract.names import SERVICE_SAMPLES
from lab.contract.overlap import MOST_SLOW_FACTOR, ROUNDING_S, composed_model, overlap, refusal
from lab.contract.policy_spec import PolicySpec
from lab.contract.spec import Spec, SpecError
from lab.contract.units import Duration, Ratio
from lab.contract.workload_spec import Workload

Letter = Annotated[str, Field(pattern=r"^[A-Z]$")]
PhaseName = Literal["baseline", "fault", "recovery"]
PHASES: tuple[PhaseName, ...] = ("baseline", "fault", "recovery")
Verdict = Literal["held", "breached"]


class Slo(Spec):
    """Held when, in each of `phases`, this percentile of the admitted jobs' measure, from due time, is within `within`.

    An admitted job that never got there counts as infinitely late.
    """

    measure: Literal["ttft", "turnaround"] = "ttft"
    percentile: Annotated[float, Field(gt=0, lt=100)] = 95
    within: Annotated[Duration, Field(gt=0)]
    phases: Annotated[tuple[PhaseName, ...], Field(min_length=1)] = PHASES


class Breaker(Spec):
    """Each worker stops taking jobs after `failures` failed or timed-out calls in a row, for `open_for`.

    Then it tries `probes` jobs: all must succeed for it to go on. Jobs that are not taken wait in the stream.
    """

    failures: Annotated[int, Field(ge=1, le=1000)] = 5
    open_for: Annotated[Duration, Field(gt=0)] = 2.0
    probes: Annotated[int, Field(ge=1, le=256)] = 1


class Stack(Spec):
    """The stack of one arm. `retry_budget` is retries per first attempt, above which `max_attempts` allows none.

    With `edge` requests come through a reverse proxy that can be switched to an enqueue endpoint, past the gate.
    `on_queue_failure` is what the gate does with a request while Redis does not answer: refuse it in error, shed it, or
    forward it to the enqueue endpoint and shed it where that fails too.
    """

    workers: Annotated[int, Field(ge=1, le=64)] = 2
    slots: Annotated[int, Field(ge=1, le=256)] = 4
    model_slots: Annotated[int, Field(ge=1, le=4096)] = 256
    utilization_smoothing: Annotated[Duration, Field(gt=0)] = 1.0
    connect_timeout: Annotated[Duration, Field(gt=0)] = 2.0
    first_token_timeout: Annotated[Duration, Field(gt=0)] = 30.0
    total_timeout: Annotated[Duration, Field(gt=0)] = 60.0
    max_attempts: Annotated[int, Field(ge=1, le=10)] = 1
    heartbeat: Annotated[Duration, Field(gt=0)] = 0.5
    reclaim_after: Annotated[Duration, Field(gt=0)] = 3.0
    drain: Annotated[Duration, Field(gt=0)] = 30.0
    breaker: Breaker | None = None
    retry_budget: Ratio | None = None
    edge: bool = False
    on_queue_failure: Literal["closed", "reject", "bypass"] = "closed"

    @property
    def total_slots(self) -> int:
        """Slots of all workers together."""
        return self.workers * self.slots

    @property
    def has_enqueue(self) -> bool:
        """Whether an enqueue endpoint runs beside the gate."""
        return self.edge or self.on_queue_failure == "bypass"


class WarmUp(Spec):
    """Before the load, the estimators of these arms are given so many service times of each class, as at rest.

    `policies` none: of every arm.
    """

    completions: Annotated[int, Field(ge=1, le=SERVICE_SAMPLES)] = SERVICE_SAMPLES
    policies: tuple[Letter, ...] = ()


class Client(Spec):
    """How a client behaves. `answer_timeout` bounds its wait for the gate's answer."""

    answer_timeout: Annotated[Duration, Field(gt=0)] = 10.0


class Bound(Spec):
    """A further expectation on one measure of one phase, by its name in report.json."""

    measure: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}$")]
    phase: Literal["baseline", "fault", "recovery", "all"] = "all"
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("this expectation bounds nothing; give at_least, at_most or both")
        return self


class Expectation(Spec):
    """What an arm is expected to do, and why."""

    verdict: Verdict
    why: Annotated[str, Field(max_length=1000)] = ""
    bounds: tuple[Bound, ...] = ()


class Claim(Spec):
    """A published number, shown beside the measured one."""

    policy: Letter
    measure: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}$")]
    phase: Literal["baseline", "fault", "recovery", "all"] = "all"
    value: float
    text: Annotated[str, Field(max_length=1000)] = ""


class Scenario(Spec):
    """A drill: one workload, one fault timeline, several policies.

    `top_speed` is the highest SPEED at which it has been seen to raise no doubt on two cores.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}$")]
    summary: Annotated[str, Field(min_length=1, max_length=2000)]
    slo: Slo
    stack: Stack = Stack()
    workload: Workload
    client: Client = Client()
    faults: tuple[AnyFault, ...] = ()
    policies: Annotated[dict[Letter, PolicySpec], Field(min_length=1)]
    expect: dict[Letter, Expectation] = Field(default_factory=dict)
    repeats: Annotated[int, Field(ge=1, le=20)] = 1
    claims: tuple[Claim, ...] = ()
    alerts: tuple[Alert, ...] = ()
    alert_interval: Annotated[Duration, Field(gt=0)] = 1.0
    host_cpu_limit: Ratio = 0.9
    warm_up: WarmUp | None = None
    top_speed: Annotated[float, Field(ge=1, le=1000)] = 1.0

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        for index, fault in enumerate(self.faults):
            self._check_fault(fault, index)
        self._check_overlaps()
        for letter in self.expect:
            self._check_letter(letter, "expect", letter)
        for index, claim in enumerate(self.claims):
            self._check_letter(claim.policy, "claims", index, "policy")
        for index, letter in enumerate(self.warm_up.policies if self.warm_up else ()):
            self._check_letter(letter, "warm_up", "policies", index)
        self._check_alert_names()
        return self

    def warms(self, letter: str) -> int:
        """How many service times of each class the estimators of this policy's arms are given; 0 for none."""
        if self.warm_up is None or (self.warm_up.policies and letter not in self.warm_up.policies):
            return 0
        return self.warm_up.completions

    def _check_alert_names(self) -> None:
        seen: set[tuple[str, str]] = set()
        for index, alert in enumerate(self.alerts):
            if (alert.name, alert.severity) in seen:
                raise SpecError(
                    f"there are two alerts {alert.name!r} of severity {alert.severity}; give one another name",
                    *("alerts", index, "name"),
                )
            seen.add((alert.name, alert.severity))

    def _check_letter(self, letter: str, *place: str | int) -> None:
        if letter not in self.policies:
            raise SpecError(f"policy {letter} is not declared; declared are {', '.join(self.policies)}", *place)

    def _check_fault(self, fault: Fault, index: int) -> None:
        if fault.end > self.workload.duration:
            raise SpecError(
                f"this fault ends at {fault.end:g} s, past the end of the workload at {self.workload.duration:g} s; "
                "shorten it or lengthen workload.duration",
                *("faults", index, "for"),
            )
        if isinstance(fault, ModelFault) and (unknown := set(fault.classes) - set(self.workload.classes)):
            raise SpecError(
                f"class {min(unknown)!r} is not declared; declared are {', '.join(self.workload.classes)}",
                *("faults", index, "classes"),
            )
        if isinstance(fault, ProcessFault):
            self._check_process(fault, index)
        if isinstance(fault, RouteFault) and not self.stack.edge:
            raise SpecError(
                "there is no edge whose route could be switched; add `edge: true` to stack", *("faults", index, "kind")
            )

    def _check_overlaps(self) -> None:
        for index, fault in enumerate(self.faults):
            for number, other in enumerate(self.faults[:index]):
                if overlap(other, fault) and (why := refusal(other, fault)):
                    raise SpecError(
                        f"this fault and faults[{number}] overlap: {why}; let one end before the other begins",
                        *("faults", index, "at"),
                    )
            self._check_slow_factor(fault, index)

    def _check_slow_factor(self, fault: AnyFault, index: int) -> None:
        """Slow factors multiply; the product is largest as one of the faults begins."""
        if not isinstance(fault, ModelFault):
            return
        acting = [
            each
            for each in self.faults
            if isinstance(each, ModelFault)
            and each.start <= fault.start + ROUNDING_S
            and each.end > fault.start + ROUNDING_S
        ]
        factor = composed_model(acting).slow_factor if acting else fault.slow_factor
        if factor > MOST_SLOW_FACTOR:
            raise SpecError(
                f"with the faults that overlap it the model is {factor:g} times as slow; "
                f"keep the product of their slow factors within {MOST_SLOW_FACTOR}",
                *("faults", index, "slow_factor"),
            )

    def _check_process(self, fault: ProcessFault, index: int) -> None:
        count = self.stack.workers if fault.service == "worker" else 1
        if fault.index > count:
            raise SpecError(
                f"there is no {fault.service} {fault.index}; the stack has {count}", *("faults", index, "index")
            )

    def phase_windows(self) -> dict[PhaseName, tuple[float, float]]:
        """Start and end, in seconds after the first due time, of each phase that is not empty.

        The fault phase runs from the first fault's start to the last one's end; with no fault all is baseline.
        """
        duration = self.workload.duration
        first = min((fault.start for fault in self.faults), default=duration)
        last = max((fault.end for fault in self.faults), default=duration)
        windows: dict[PhaseName, tuple[float, float]] = {
            "baseline": (0.0, first),
            "fault": (first, last),
            "recovery": (last, duration),
        }
        return {phase: window for phase, window in windows.items() if window[1] > window[0]}
