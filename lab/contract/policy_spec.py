"""The admission policies a scenario may declare, with their thresholds. The rules themselves live in `lab.policies`."""

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from lab.contract.spec import Spec
from lab.contract.units import Duration, Ratio

Mode = Literal["off", "log_only", "enforce"]


class PolicySpecBase(Spec):
    """What every policy declares. `why` is the derivation of its threshold, printed in the report."""

    mode: Mode = "enforce"
    why: Annotated[str, Field(max_length=1000)] = ""


class NoPolicy(PolicySpecBase):
    """A: everything is admitted."""

    kind: Literal["none"]


class QueueAgePolicy(PolicySpecBase):
    """B: shed while the oldest undelivered entry is older than max_age."""

    kind: Literal["queue_age"]
    max_age: Annotated[Duration, Field(gt=0)]


class QueueDepthPolicy(PolicySpecBase):
    """C: shed while more than max_depth entries are undelivered."""

    kind: Literal["queue_depth"]
    max_depth: Annotated[int, Field(ge=0)]


class UtilizationPolicy(PolicySpecBase):
    """D: shed while smoothed utilization is above max_utilization."""

    kind: Literal["utilization"]
    max_utilization: Ratio


PolicySpec = Annotated[NoPolicy | QueueAgePolicy | QueueDepthPolicy | UtilizationPolicy, Field(discriminator="kind")]

# How a gate reads the policy that its environment names.
POLICY_ADAPTER: TypeAdapter[PolicySpec] = TypeAdapter(PolicySpec)
