"""The last seconds of a live stack as rates and percentiles, from its services' event lines. Pure: time is an argument.

A line seen twice counts once, so a follower may be started again where the last one was cut off.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from lab.contract.names import LIVE_HEARTBEATS, PROBE_PREFIX

RATE_SPAN_S = 10.0
PERCENTILE_SPAN_S = 30.0
PERCENT = 95
# How long a request's due time is kept for an outcome that may still come.
DUE_KEPT_S = 900.0
# A worker's heartbeats are taken to be at least this far apart, so that a late line does not make it dead.
LEAST_BEAT_S = 0.5
GOOD_OUTCOMES = ("ok", "late")


@dataclass(frozen=True, slots=True)
class Rates:
    """Per second over RATE_SPAN_S; percentiles over PERCENTILE_SPAN_S in seconds, None where no job ended.

    Latencies count from when a request was due, where its client is known; a failed job is infinitely late.
    """

    offered_per_s: float
    admitted_per_s: float
    shed_per_s: float
    refused_per_s: float
    done_per_s: float
    p95_ttft_s: float | None
    p95_turnaround_s: float | None
    workers_live: int


@dataclass(frozen=True, slots=True)
class _Ended:
    """A settled job."""

    request_id: str
    enqueued_at: float
    first_token_at: float | None
    finished_at: float
    good: bool


@dataclass(frozen=True, slots=True)
class _Beat:
    """A worker's last heartbeat, and how long after the one before."""

    at: float
    gap_s: float


class Window:
    """What happened lately."""

    def __init__(self) -> None:
        """Nothing has."""
        self._offered: dict[str, float] = {}
        self._decided: dict[str, tuple[float, str]] = {}
        self._refused: dict[str, float] = {}
        self._ended: dict[str, _Ended] = {}
        self._due: dict[str, float] = {}
        self._beats: dict[str, _Beat] = {}
        self._observers: dict[str, Callable[[dict[str, Any]], None]] = {
            "request": self._on_request,
            "decision": self._on_decision,
            "refusal": self._on_refusal,
            "outcome": self._on_outcome,
            "heartbeat": self._on_heartbeat,
        }

    def observe(self, event: dict[str, Any]) -> None:
        """Takes in one event of any service; those of the lab's own probes do not count."""
        observer = self._observers.get(event["event"])
        if observer is not None and not str(event.get("request_id") or "").startswith(PROBE_PREFIX):
            observer(event)

    def rates(self, now_at: float) -> Rates:
        """The last seconds before `now_at`, unix seconds; what is too old is forgotten."""
        self._forget(now_at)
        since_at = now_at - RATE_SPAN_S
        decisions = [word for at, word in self._decided.values() if at >= since_at]
        ended = list(self._ended.values())
        return Rates(
            offered_per_s=_per_s(at >= since_at for at in self._offered.values()),
            admitted_per_s=_per_s(word != "shed" for word in decisions),
            shed_per_s=_per_s(word == "shed" for word in decisions),
            refused_per_s=_per_s(at >= since_at for at in self._refused.values()),
            done_per_s=_per_s(job.finished_at >= since_at and job.good for job in ended),
            p95_ttft_s=percentile([self._latency_s(job, job.first_token_at) for job in ended], PERCENT),
            p95_turnaround_s=percentile([self._latency_s(job, job.finished_at) for job in ended], PERCENT),
            workers_live=sum(_lives(beat, now_at) for beat in self._beats.values()),
        )

    def _on_request(self, event: dict[str, Any]) -> None:
        self._due[event["request_id"]] = event["due_at"]
        if event["sent_at"] is not None:
            self._offered[event["request_id"]] = event["sent_at"]

    def _on_decision(self, event: dict[str, Any]) -> None:
        self._offered[event["request_id"]] = event["at"]
        self._decided[event["request_id"]] = (event["at"], event["decision"])

    def _on_refusal(self, event: dict[str, Any]) -> None:
        name = event["request_id"] or f"unnamed at {event['at']}"
        self._offered[name] = self._refused[name] = event["at"]

    def _on_outcome(self, event: dict[str, Any]) -> None:
        if not event["duplicate"]:
            self._ended[event["job_id"]] = _Ended(
                event["request_id"],
                event["enqueued_at"],
                event["first_token_at"],
                event["finished_at"],
                event["outcome"] in GOOD_OUTCOMES,
            )

    def _on_heartbeat(self, event: dict[str, Any]) -> None:
        last = self._beats.get(event["worker_id"])
        gap_s = event["at"] - last.at if last else LEAST_BEAT_S
        if gap_s > 0:
            # A pause makes one gap long; what the worker was told stays what it was.
            most_s = 2 * last.gap_s if last else LEAST_BEAT_S
            self._beats[event["worker_id"]] = _Beat(event["at"], max(LEAST_BEAT_S, min(gap_s, most_s)))

    def _latency_s(self, job: _Ended, reached_at: float | None) -> float:
        if not job.good or reached_at is None:
            return math.inf
        return reached_at - self._due.get(job.request_id, job.enqueued_at)

    def _forget(self, now_at: float) -> None:
        since_at = now_at - PERCENTILE_SPAN_S
        self._offered = {name: at for name, at in self._offered.items() if at >= since_at}
        self._decided = {name: (at, word) for name, (at, word) in self._decided.items() if at >= since_at}
        self._refused = {name: at for name, at in self._refused.items() if at >= since_at}
        self._ended = {name: job for name, job in self._ended.items() if job.finished_at >= since_at}
        self._due = {name: at for name, at in self._due.items() if at >= now_at - DUE_KEPT_S}


def percentile(values: list[float], percent: float) -> float | None:
    """The nearest-rank percentile; None of nothing."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def _per_s(counted: Iterable[bool]) -> float:
    return sum(counted) / RATE_SPAN_S


def _lives(beat: _Beat, now_at: float) -> bool:
    return now_at - beat.at <= LIVE_HEARTBEATS * beat.gap_s
