"""The schedule of one repeat: every request with its due time, fixed by the seed, the same for every policy."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lab.contract.messages import ScheduledRequest
from lab.contract.workload_spec import (
    ConstantArrivals,
    JobClass,
    OnOffArrivals,
    PoissonArrivals,
    ReplayArrivals,
    StagedArrivals,
    Workload,
)
from lab.workload import arrivals, jobs
from lab.workload.errors import WorkloadError
from lab.workload.replay import MAX_TOKENS, ReplayRow, replay_rows

# Each aspect draws from a stream of its own, so that a change of one does not shift the others. Append only.
ASPECTS = ("arrivals", "class", "input_tokens", "output_tokens", "service", "deadline")
MICROSECONDS = 6
# What a message can carry.
MAX_SECONDS = 86_400


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
    data = _bytes(requests)
    path.write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def schedule_sha256(requests: Sequence[ScheduledRequest]) -> str:
    """The SHA-256 that `write_schedule` would return."""
    return hashlib.sha256(_bytes(requests)).hexdigest()


def _bytes(requests: Sequence[ScheduledRequest]) -> bytes:
    return "".join(request.model_dump_json() + "\n" for request in requests).encode()


def _times(
    workload: Workload, base_dir: Path, generator: np.random.Generator
) -> tuple[arrivals.Times, list[ReplayRow] | None]:
    """Due times in order and, of a replay, the recorded rows behind them."""
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
    count = len(times)
    picked = jobs.class_indices(list(workload.classes.values()), count, generators["class"])
    # Drawn for every request whatever its class, so that a class's weight does not shift another's draws.
    quantiles = {aspect: generators[aspect].random(count) for aspect in ASPECTS[2:]}
    # Rounding must not carry a request past the end.
    dues = np.minimum(np.round(times, MICROSECONDS), workload.duration - 1e-6)
    made: dict[int, ScheduledRequest] = {}
    for index, (name, job_class) in enumerate(workload.classes.items()):
        members = np.flatnonzero(picked == index)
        drawn = {aspect: values[members] for aspect, values in quantiles.items()}
        recorded = None if rows is None else [rows[member] for member in members]
        for member, asked in zip(members.tolist(), _asked(name, job_class, drawn, recorded), strict=True):
            made[member] = ScheduledRequest.model_validate(
                {
                    "request_id": f"r{member + 1:06d}",
                    "due_s": round(float(dues[member]), MICROSECONDS),
                    "job_class": name,
                    "tenant": job_class.tenant,
                    **asked,
                }
            )
    return tuple(made[member] for member in range(count))


def _asked(
    name: str, job_class: JobClass, drawn: dict[str, jobs.Seconds], recorded: list[ReplayRow] | None
) -> list[dict[str, float]]:
    """What each request of one class asks for."""
    if recorded is None:
        tokens_in = jobs.tokens_at(job_class.input_tokens, drawn["input_tokens"])
        tokens_out = jobs.tokens_at(job_class.output_tokens, drawn["output_tokens"])
    else:
        tokens_in = np.array([row.input_tokens for row in recorded], dtype=np.int64)
        tokens_out = np.array([row.output_tokens for row in recorded], dtype=np.int64)
    work, first = jobs.service_times(job_class.service, tokens_in, tokens_out, drawn["service"])
    columns = {
        "input_tokens": tokens_in,
        "output_tokens": tokens_out,
        "work_s": work.round(MICROSECONDS),
        "first_token_s": first.round(MICROSECONDS),
        "deadline_s": jobs.deadlines(job_class.deadline, drawn["deadline"]).round(MICROSECONDS),
    }
    for column, values in columns.items():
        _check_size(name, column, float(values.max(initial=0)))
    rows = zip(*(values.tolist() for values in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def _check_size(name: str, column: str, largest: float) -> None:
    most = MAX_TOKENS if column.endswith("tokens") else MAX_SECONDS
    if largest > most:
        raise WorkloadError(f"class {name}: a request with {column} {largest:,.10g} is due; it can be at most {most:,}")
