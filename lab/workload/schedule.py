"""The schedule of one repeat: every request with its due time, fixed by the seed, the same for every policy."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lab.contract.messages import ScheduledRequest
from lab.contract.workload_spec import (
    ConstantArrivals,
    OnOffArrivals,
    PoissonArrivals,
    ReplayArrivals,
    StagedArrivals,
    Workload,
)
from lab.workload import arrivals, jobs
from lab.workload.errors import WorkloadError
from lab.workload.replay import ReplayRow, replay_rows

# Each aspect draws from a stream of its own, so that a change of one does not shift the others. Append only.
ASPECTS = ("arrivals", "class", "input_tokens", "output_tokens", "service", "deadline")
MICROSECONDS = 6


def make_schedule(workload: Workload, repeat: int, base_dir: Path) -> tuple[ScheduledRequest, ...]:
    """Every request of one repeat (counted from 1), sorted by due time; a replayed file is looked up in `base_dir`.

    Raises:
        WorkloadError: nothing is due, far too much is, or a replayed file cannot be used.
    """
    generators = {
        aspect: np.random.default_rng(np.random.SeedSequence((workload.seed, repeat, number)))
        for number, aspect in enumerate(ASPECTS)
    }
    times, rows = _times(workload, base_dir, generators["arrivals"])
    if not len(times):
        raise WorkloadError("no request is due in this workload; raise the rate or the duration")
    if len(times) > arrivals.MAX_REQUESTS:
        raise WorkloadError(f"more than {arrivals.MAX_REQUESTS:,} requests are due; lower the rate or the duration")
    return _requests(workload, times, rows, generators)


def write_schedule(requests: Sequence[ScheduledRequest], path: Path) -> str:
    """Writes one JSON object a line; returns the SHA-256 of the bytes. OSError is the caller's to word."""
    text = "".join(request.model_dump_json() + "\n" for request in requests)
    path.write_text(text, encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest()


def _times(
    workload: Workload, base_dir: Path, generator: np.random.Generator
) -> tuple[arrivals.Times, list[ReplayRow] | None]:
    declared, duration_s = workload.arrivals, workload.duration
    match declared:
        case ConstantArrivals():
            return arrivals.constant_times(declared, duration_s), None
        case PoissonArrivals():
            return arrivals.poisson_times(declared, duration_s, generator), None
        case StagedArrivals():
            return arrivals.staged_times(declared, generator), None
        case OnOffArrivals():
            return arrivals.on_off_times(declared, duration_s, generator), None
        case ReplayArrivals():
            rows = replay_rows(declared, duration_s, base_dir, generator)
            return np.array([row.at_s for row in rows]), rows


def _requests(
    workload: Workload, times: arrivals.Times, rows: list[ReplayRow] | None, generators: dict[str, np.random.Generator]
) -> tuple[ScheduledRequest, ...]:
    names, classes = list(workload.classes), list(workload.classes.values())
    count = len(times)
    picked = jobs.class_indices(classes, count, generators["class"])
    # Drawn for every request whatever its class, so that a class's weight does not shift another's draws.
    quantiles = {aspect: generators[aspect].random(count) for aspect in ASPECTS[2:]}
    made: list[ScheduledRequest | None] = [None] * count
    for index, job_class in enumerate(classes):
        members = np.flatnonzero(picked == index)
        at = {aspect: values[members] for aspect, values in quantiles.items()}
        if rows is None:
            tokens_in = jobs.tokens_at(job_class.input_tokens, at["input_tokens"])
            tokens_out = jobs.tokens_at(job_class.output_tokens, at["output_tokens"])
        else:
            tokens_in = np.array([rows[member].input_tokens for member in members], dtype=np.int64)
            tokens_out = np.array([rows[member].output_tokens for member in members], dtype=np.int64)
        work, first = jobs.service_times(job_class.service, tokens_in, tokens_out, at["service"])
        deadline = jobs.deadlines(job_class.deadline, at["deadline"])
        for place, member in enumerate(members):
            made[member] = ScheduledRequest(
                request_id=f"r{member + 1:06d}",
                due_s=round(float(times[member]), MICROSECONDS),
                job_class=names[index],
                tenant=job_class.tenant,
                input_tokens=int(tokens_in[place]),
                output_tokens=int(tokens_out[place]),
                work_s=round(float(work[place]), MICROSECONDS),
                first_token_s=round(float(first[place]), MICROSECONDS),
                deadline_s=round(float(deadline[place]), MICROSECONDS),
            )
    return tuple(request for request in made if request is not None)
