"""What goes into the admission script and what comes out of it, as values and as texts.

Knows admit.lua's argument list. Must not know Redis itself, HTTP, or policies beyond their rules.
"""

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pydantic import ValidationError

from lab.contract.messages import Job
from lab.policies.negative_slack import QueuedJob
from lab.policies.rule import Action, Rule
from lab.policies.snapshot import ServiceSample, Snapshot

_EFFECT_CODES: Mapping[Action | None, int] = {None: 0, "shed": 1, "degrade": 2}
# When it was, in unix ms, and how long it took, in microseconds.
_SAMPLE = re.compile(r"([0-9]{1,15}):([0-9]{1,15})")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One request as the script needs it. `rules` come with what each does to the request, None where it is only said.

    `degraded_json` is the job where it is degraded, empty where no rule can do that.
    """

    job_id: str
    job_json: str
    request_id: str
    job_class: str
    deadline_s: float
    rules: tuple[tuple[Rule, Action | None], ...]
    degraded_json: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the script did with one candidate, and the signals it saw. `rule` is the index of the first that held.

    `enqueued` is None where the call arrived too late to enqueue anything.
    """

    enqueued: bool | None
    rule: int | None
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class Reply:
    """The verdicts in the order of the candidates, and the signals after them."""

    verdicts: tuple[Verdict, ...]
    snapshot: Snapshot


def call_arguments(
    head: Sequence[Any],
    candidates: Sequence[Candidate],
    expected_s: Mapping[str, float],
    latest_at: float,
    *,
    saves: bool,
) -> Iterable[Any]:
    """The script's ARGV; `head` is what stays the same from call to call, `expected_s` the service time by class."""
    yield from (*head, int(saves), repr(latest_at), len(expected_s))
    yield from chain.from_iterable((job_class, repr(service_s)) for job_class, service_s in expected_s.items())
    yield from chain.from_iterable(map(_candidate_arguments, candidates))


def _candidate_arguments(candidate: Candidate) -> Iterable[Any]:
    yield from (candidate.job_json[:-1], candidate.degraded_json[:-1], candidate.request_id, candidate.job_class)
    yield from (repr(candidate.deadline_s), len(candidate.rules))
    for rule, effect in candidate.rules:
        yield from (_EFFECT_CODES[effect], len(rule.conditions))
        for condition in rule.conditions:
            yield from (condition.signal, condition.comparison, repr(float(condition.limit)))


def read_reply(texts: Sequence[str]) -> Reply:
    """The script's answer as values."""
    now_at = float(texts[0])
    verdicts = tuple(_verdict(now_at, text.split(" ")) for text in texts[1:-1])
    return Reply(verdicts, _snapshot(now_at, texts[-1].split(" ")))


def _verdict(now_at: float, words: list[str]) -> Verdict:
    enqueued = {"1": True, "0": False, "-1": None}[words[0]]
    rule = int(words[1]) - 1
    return Verdict(enqueued, rule if rule >= 0 else None, _snapshot(now_at, words[2:]))


def _snapshot(now_at: float, words: list[str]) -> Snapshot:
    age_s, depth, in_flight, slots, utilization_ratio, work_ahead_s = words
    return Snapshot(
        now_at, float(age_s), int(depth), int(in_flight), int(slots), float(utilization_ratio), float(work_ahead_s)
    )


def read_samples(job_class: str, texts: Iterable[str]) -> tuple[ServiceSample, ...]:
    """A class's service samples from their texts in Redis, in the same order; what is no sample is left out."""
    pairs = filter(None, map(_numbers, texts))
    return tuple(ServiceSample(job_class, service_us / 1e6, finished_ms / 1e3) for finished_ms, service_us in pairs)


def read_waits_s(texts: Iterable[str]) -> tuple[float, ...]:
    """Measured queue waits in seconds from their texts in Redis, in the same order; what is none is left out."""
    return tuple(wait_us / 1e6 for _, wait_us in filter(None, map(_numbers, texts)))


def read_queued(texts: Iterable[str]) -> list[QueuedJob]:
    """Queued jobs from the texts that the stream holds, in the same order; what is no job is left out."""
    jobs = []
    for text in texts:
        with contextlib.suppress(ValidationError):
            job = Job.model_validate_json(text)
            jobs.append(QueuedJob(job.job_class, job.deadline_at))
    return jobs


def _numbers(text: str) -> tuple[int, int] | None:
    match = _SAMPLE.fullmatch(text)
    return None if match is None else (int(match[1]), int(match[2]))
