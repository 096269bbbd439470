"""The faults of a scenario's timeline. Every fault says when it starts (`at`) and how long it stays (`for`).

`links` are the proxied connections: `model` (worker to model) and `redis` (worker to Redis).
"""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from lab.contract.policy_spec import Mode, PolicySpec
from lab.contract.spec import Spec
from lab.contract.units import Duration, Ratio

Link = Literal["model", "redis"]
Bytes = Annotated[int, Field(ge=0)]


class Fault(Spec):
    """What every fault declares; `start` and `lasts` are seconds after the first due time."""

    start: Annotated[Duration, Field(alias="at")]
    lasts: Annotated[Duration, Field(alias="for", gt=0)]

    @property
    def end(self) -> float:
        """Seconds after the first due time at which the fault is reverted."""
        return self.start + self.lasts


class NoopFault(Fault):
    """Nothing happens: the control arm of fault injection."""

    kind: Literal["noop"]


class ToxicFault(Fault):
    """A Toxiproxy toxic on one link."""

    link: Link = "model"
    stream: Literal["upstream", "downstream"] = "downstream"
    toxicity: Ratio = 1.0


class LatencyFault(ToxicFault):
    """Every chunk is held for latency, give or take jitter."""

    kind: Literal["latency"]
    latency: Duration
    jitter: Duration = 0.0


class BandwidthFault(ToxicFault):
    """At most this many kilobytes (1,000 bytes) per second and connection."""

    kind: Literal["bandwidth"]
    rate_kb_per_s: Bytes


class SlowCloseFault(ToxicFault):
    """The close of a connection is held for delay."""

    kind: Literal["slow_close"]
    delay: Duration


class TimeoutFault(ToxicFault):
    """All data is dropped; the connection closes after this long without data, never if 0s."""

    kind: Literal["timeout"]
    timeout: Duration


class ResetPeerFault(ToxicFault):
    """The connection is reset this long after its first data."""

    kind: Literal["reset_peer"]
    timeout: Duration = 0.0


class SlicerFault(ToxicFault):
    """Data is cut into small pieces, with a delay after each."""

    kind: Literal["slicer"]
    average_size_bytes: Annotated[int, Field(gt=0)]
    size_variation_bytes: Bytes = 0
    delay: Duration = 0.0


class LimitDataFault(ToxicFault):
    """The connection closes after this many bytes."""

    kind: Literal["limit_data"]
    limit_bytes: Bytes


class ProxyDownFault(Fault):
    """The link refuses connections and drops the open ones."""

    kind: Literal["proxy_down"]
    link: Link = "model"


class ModelFault(Fault):
    """The model itself misbehaves: slower, failing, or silent before the first token.

    `classes` limits it to these job classes; none given means all.
    """

    kind: Literal["model"]
    slow_factor: Annotated[float, Field(ge=1, le=1000)] = 1.0
    failure_ratio: Ratio = 0.0
    status: Annotated[int, Field(ge=400, le=599)] = 500
    stall_ratio: Ratio = 0.0
    classes: tuple[str, ...] = ()


class ProcessFault(Fault):
    """A process of the stack is killed, paused or restarted, or there are more or fewer workers for the fault's length.

    A killed process is started again when the fault ends; a restart stops it in order and starts it at once. `index`
    counts workers from 1; `replicas` is how many workers a scale leaves.
    """

    kind: Literal["process"]
    service: Literal["worker", "gate", "model", "redis"]
    action: Literal["kill", "pause", "restart", "scale"]
    index: Annotated[int, Field(ge=1)] = 1
    replicas: Annotated[int, Field(ge=0, le=64)] | None = None

    @model_validator(mode="after")
    def _scales_workers(self) -> "ProcessFault":
        if (self.action == "scale") != (self.replicas is not None):
            raise ValueError("replicas goes with action scale, and scale with replicas: how many workers are left")
        if self.action == "scale" and self.service != "worker":
            raise ValueError(f"only workers can be scaled; {self.service} is one process")
        return self


class PolicyFault(Fault):
    """The running gate is given another policy, or the same in another mode; at the end it has back what it had.

    This is how a wrong threshold, and the way back from it, are rehearsed. Of several the newest wins.
    """

    kind: Literal["policy"]
    switch_to: PolicySpec | None = None
    mode: Mode | None = None

    @model_validator(mode="after")
    def _switches_one_thing(self) -> "PolicyFault":
        if (self.switch_to is None) == (self.mode is None):
            raise ValueError("give one of switch_to, a whole policy, and mode, which is off, log_only or enforce")
        return self


class RouteFault(Fault):
    """The edge sends every request past the gate, to the enqueue endpoint; at the end to the gate again.

    Needs a stack with an edge.
    """

    kind: Literal["route"]
    to: Literal["bypass"] = "bypass"


AnyToxic = LatencyFault | BandwidthFault | SlowCloseFault | TimeoutFault | ResetPeerFault | SlicerFault | LimitDataFault
AnyFault = Annotated[
    NoopFault
    | LatencyFault
    | BandwidthFault
    | SlowCloseFault
    | TimeoutFault
    | ResetPeerFault
    | SlicerFault
    | LimitDataFault
    | ProxyDownFault
    | ModelFault
    | ProcessFault
    | PolicyFault
    | RouteFault,
    Field(discriminator="kind"),
]
