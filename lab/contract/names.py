"""Every name on the wire, in one place: Redis keys, fields, headers, codes, and the letters of the policies.

Redis holds:
    shedlab:jobs              stream, group "workers"; one entry per unsettled job, fields FIELD_VERSION and FIELD_JOB
    shedlab:job:<job_id>      hash of one job, for GET /v1/jobs/{id}; expires JOB_RETENTION_S after its last change.
                              The gate writes job, status, entry_id (status "withdrawn": taken back unserved);
                              the settling worker status, outcome, finished_at, attempts, tokens_out, settled_by
    shedlab:dead              stream of entries set aside unserved: the entry's fields, cut to 8,192 bytes (whole is
                              then "no"), entry_id and reason; the last 1,000 are kept
    shedlab:answer:<job_id>   list, the job's answer channel: one JSON text per answer chunk, the last has "done": true
    shedlab:workers           hash worker_id -> slots
    shedlab:heartbeats        sorted set worker_id -> Redis time in ms of its last heartbeat
    shedlab:utilization       hash {value, at_ms}: smoothed occupied slots over slots
    shedlab:service:<class>   list, newest first, at most SERVICE_SAMPLES texts "<finished_unix_ms>:<service_us>": how
                              long a job of the class held its slot until its answer was whole (outcome ok or late);
                              pushed by the settlement that counts; probes leave none
    shedlab:unsettled         hash class -> jobs admitted and not settled: the gate adds one as it admits, the
                              settlement that counts takes one off, whatever the outcome; never below 0
    shedlab:classes           set of the classes that have samples or jobs
"""

from typing import Final

STREAM: Final = "shedlab:jobs"
GROUP: Final = "workers"
FIELD_VERSION: Final = "v"
FIELD_JOB: Final = "job"
ENTRY_VERSION: Final = "1"
JOB_KEY_PREFIX: Final = "shedlab:job:"
ANSWER_KEY_PREFIX: Final = "shedlab:answer:"
WORKERS_KEY: Final = "shedlab:workers"
HEARTBEATS_KEY: Final = "shedlab:heartbeats"
UTILIZATION_KEY: Final = "shedlab:utilization"
JOB_RETENTION_S: Final = 600
SERVICE_KEY_PREFIX: Final = "shedlab:service:"
SERVICE_SAMPLES: Final = 200
UNSETTLED_KEY: Final = "shedlab:unsettled"
CLASSES_KEY: Final = "shedlab:classes"

# A worker counts as live for this many heartbeats after its last one.
LIVE_HEARTBEATS: Final = 4

HEADER_REQUEST_ID: Final = "x-request-id"
HEADER_JOB_ID: Final = "x-job-id"
HEADER_ATTEMPT: Final = "x-job-attempt"
HEADER_JOB_CLASS: Final = "x-job-class"
# The declared work of a job, in whole microseconds, so that every arm's model spends the same time on it.
HEADER_WORK_US: Final = "x-lab-work-us"
HEADER_FIRST_TOKEN_US: Final = "x-lab-first-token-us"  # noqa: S105 - the name of a header, no secret
HEADER_RETRY_AFTER: Final = "Retry-After"
HEADER_RETRY_AFTER_MS: Final = "retry-after-ms"

# Requests the runner sends to see that the stack works; they stay out of every measure and of the book.
PROBE_PREFIX: Final = "probe-"

# Reason codes of a decision.
REASON_ADMITTED: Final = "admitted"
REASON_QUEUE_AGE: Final = "queue_age"
REASON_QUEUE_DEPTH: Final = "queue_depth"
REASON_UTILIZATION: Final = "utilization"
REASON_DRAINING: Final = "draining"

# Reason codes of a refusal in error, with their HTTP status.
REFUSAL_STATUS: Final = {
    "bad_request": 400,
    "not_found": 404,
    "too_large": 413,
    "draining": 503,
    "queue_unreachable": 503,
    "internal_error": 500,
}

OUTCOMES: Final = ("ok", "late", "expired", "timeout", "error", "dead_lettered", "unfinished")

# Names of the proxied links in Toxiproxy.
PROXY_NAMES: Final = {"model": "model", "redis": "redis"}

# Exit codes of the front desk and of the services.
EXIT_OK: Final = 0
EXIT_DEVIATED: Final = 1
EXIT_USAGE: Final = 2
EXIT_COULD_NOT_RUN: Final = 3
EXIT_INTERRUPTED: Final = 130
