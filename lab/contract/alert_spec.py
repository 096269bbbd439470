"""The alerts of a scenario: on which signal, above which threshold, held for how long, and what to do then.

They mean what Prometheus means: evaluated once per `alert_interval`, pending from the first evaluation at which the
signal is above its threshold, firing once that has held without a break for `for`, over at the first at which it has
not. Signals, with the unit of their thresholds:

    queue_age              age of the oldest undelivered entry, a duration
    queue_depth            entries not yet delivered, a count
    utilization            occupied slots over slots, smoothed, a ratio
    negative_slack_ratio   share of the queued jobs whose deadline lies before their projected end, a ratio
    provider_latency       p95 of the attempts' endpoint latency within `window`, a duration
    p95_turnaround         p95 from enqueued to done, of the jobs done within `window`, a duration
    p95_ttft               p95 from enqueued to the first token, of the jobs done within `window`, a duration
    rejection_rate         share of the arrivals within `window` that were shed, a ratio
    refused_in_error_rate  share of the arrivals within `window` that were refused in error, a ratio
    deadline_miss_rate     share of the jobs settled within `window` that are not ok, a ratio
    shed_without_fault     rejection_rate, while no fault has acted within `window`; a switch of policy is no fault
    drift                  a class's service time estimate over its lowest within `window`, a factor
"""

from typing import Annotated, Literal

from pydantic import Field

from lab.contract.spec import Spec
from lab.contract.units import Duration, Ratio

Severity = Literal["warn", "page"]
Window = Annotated[Duration, Field(gt=0)]


class AgeCondition(Spec):
    """The queue is older than the threshold."""

    signal: Literal["queue_age"]
    threshold: Duration


class DepthCondition(Spec):
    """More entries wait than the threshold."""

    signal: Literal["queue_depth"]
    threshold: Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ShareCondition(Spec):
    """A share at this instant is above the threshold."""

    signal: Literal["utilization", "negative_slack_ratio"]
    threshold: Ratio


class LatencyCondition(Spec):
    """A p95 over a window is above the threshold."""

    signal: Literal["provider_latency", "p95_turnaround", "p95_ttft"]
    threshold: Duration
    window: Window = 60.0


class RateCondition(Spec):
    """A share over a window is above the threshold."""

    signal: Literal["rejection_rate", "refused_in_error_rate", "deadline_miss_rate", "shed_without_fault"]
    threshold: Ratio
    window: Window = 60.0


class DriftCondition(Spec):
    """An estimate has grown by more than this factor within a window."""

    signal: Literal["drift"]
    threshold: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 2.0
    window: Window = 60.0


Condition = AgeCondition | DepthCondition | ShareCondition | LatencyCondition | RateCondition | DriftCondition


class AlertBase(Spec):
    """What every alert declares. `only_when` must hold too: misses, say, page only once rejections have risen."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,59}$")]
    hold: Annotated[Duration, Field(alias="for")] = 0.0
    severity: Severity
    action: Annotated[str, Field(min_length=1, max_length=1000)]
    only_when: Annotated[Condition, Field(discriminator="signal")] | None = None


class AgeAlert(AgeCondition, AlertBase):
    """An alert on the queue's age."""


class DepthAlert(DepthCondition, AlertBase):
    """An alert on the queue's depth."""


class ShareAlert(ShareCondition, AlertBase):
    """An alert on a share at an instant."""


class LatencyAlert(LatencyCondition, AlertBase):
    """An alert on a p95 over a window."""


class RateAlert(RateCondition, AlertBase):
    """An alert on a share over a window."""


class DriftAlert(DriftCondition, AlertBase):
    """An alert on an estimate that grows."""


AnyAlert = AgeAlert | DepthAlert | ShareAlert | LatencyAlert | RateAlert | DriftAlert
Alert = Annotated[AnyAlert, Field(discriminator="signal")]

# By signal, the unit of its threshold, as the report's measures name units.
UNITS: dict[str, Literal["s", "count", "ratio", "factor"]] = {
    "queue_age": "s",
    "queue_depth": "count",
    "utilization": "ratio",
    "negative_slack_ratio": "ratio",
    "provider_latency": "s",
    "p95_turnaround": "s",
    "p95_ttft": "s",
    "rejection_rate": "ratio",
    "refused_in_error_rate": "ratio",
    "deadline_miss_rate": "ratio",
    "shed_without_fault": "ratio",
    "drift": "factor",
}
