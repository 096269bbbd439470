"""What settle.lua is told of an ending: its keys and arguments, in its order. Pure; must not know a connection."""

from typing import Final

from lab.contract.names import (
    ANSWER_KEY_PREFIX,
    BEGUN_KEY,
    CLASSES_KEY,
    GROUP,
    JOB_KEY_PREFIX,
    JOB_RETENTION_S,
    SERVICE_KEY_PREFIX,
    SERVICE_SAMPLES,
    STREAM,
    UNSETTLED_KEY,
)
from worker.outcome import STATUS_OF_OUTCOME, Ending

DEAD_STREAM: Final = "shedlab:dead"
MOST_DEAD_LETTERS: Final = 1000
MOST_DEAD_LETTER_BYTES: Final = 8192
# Clients make up the names of classes.
MOST_CLASSES: Final = 1000


def settle_keys(ending: Ending) -> tuple[str, ...]:
    """KEYS of settle.lua."""
    job_id, job_class = (ending.identity.job_id, ending.identity.job_class) if ending.identity else ("", "")
    return (
        STREAM,
        DEAD_STREAM,
        f"{JOB_KEY_PREFIX}{job_id}",
        f"{ANSWER_KEY_PREFIX}{job_id}",
        f"{SERVICE_KEY_PREFIX}{job_class}",
        UNSETTLED_KEY,
        CLASSES_KEY,
        BEGUN_KEY,
    )


def settle_arguments(ending: Ending, worker_life: str) -> tuple[str | int, ...]:
    """ARGV of settle.lua; `worker_life` tells this run of the worker from every other."""
    entry_id = ending.delivery.entry_id
    return (
        GROUP,
        entry_id,
        ending.dead_letter_reason,
        ending.outcome if ending.identity else "",
        f"{worker_life}:{entry_id}:{ending.delivery.delivery_count}",
        STATUS_OF_OUTCOME[ending.outcome],
        repr(ending.finished_at),
        ending.attempt,
        ending.tokens_out,
        ending.last_chunk(),
        JOB_RETENTION_S,
        MOST_DEAD_LETTERS,
        ending.identity.job_class if ending.identity else "",
        ending.service_sample,
        SERVICE_SAMPLES,
        MOST_CLASSES,
        MOST_DEAD_LETTER_BYTES,
    )
