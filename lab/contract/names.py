"""Every name on the wire, in one place: Redis keys, fields, headers, codes, and the letters of the policies.

Redis holds:
    shedlab:jobs              stream, group "workers"; one entry per unsettled job, fields FIELD_VERSION and FIELD_JOB
    shedlab:job:<job_id>      hash of one job, for GET /v1/jobs/{id}; expires JOB_RETENTION_S after its last change.
                              The gate writes job, status, entry_id (status "withdrawn": taken back unserved);
                              the settling worker status, outcome, finished_at, attempts, tokens_out, settled_by
    shedlab:begun             hash entry id -> "<times begun>:<who began last>", written before the model is asked;
                              the settlement takes it off
    shedlab:dead              stream of entries set aside unserved: the entry's fields, cut to 8,192 bytes (whole is
                              then "no"), entry_id and reason; the last 1,000 are kept
    shedlab:answer:<job_id>   list, the job's answer channel: one JSON text per answer chunk, the last has "done": true
    shedlab:workers           hash worker_id -> slots
    shedlab:heartbeats        sorted set worker_id -> Redis time in ms of its last heartbeat
    shedlab:utilization       hash {value, at_ms, delivered}: smoothed occupied slots over slots, and the last delivered
                              entry, when a gate sampled last
    shedlab:service:<class>   list, newest first, at most SERVICE_SAMPLES texts "<finished_unix_ms>:<service_us>": how
                              long a job of the class held its slot until its answer was whole (outcome ok or late);
                              pushed by the settlement that counts; probes leave none
    shedlab:unsettled         hash class -> jobs admitted and not settled: the gate adds one as it admits, the
                              settlement that counts takes one off, whatever the outcome; never below 0
    shedlab:classes           set of the classes that have samples or jobs
    shedlab:waits             list, newest first, at most SERVICE_SAMPLES texts "<sampled_unix_ms>:<wait_us>", pushed by
                              a gate as it samples: how long the entry delivered last had waited, or 0 where nothing
                              waits and slots are idle
    shedlab:refused           hash client -> refusals within its retry window, of at most MOST_REFUSED_CLIENTS
    shedlab:refused_until     sorted set client -> Redis time in ms at which its retry window ends
"""

from typing import Final, Literal

STREAM: Final = "shedlab:jobs"
GROUP: Final = "workers"
FIELD_VERSION: Final = "v"
FIELD_JOB: Final = "job"
ENTRY_VERSION: Final = "1"
JOB_KEY_PREFIX: Final = "shedlab:job:"
ANSWER_KEY_PREFIX: Final = "shedlab:answer:"
BEGUN_KEY: Final = "shedlab:begun"
WORKERS_KEY: Final = "shedlab:workers"
HEARTBEATS_KEY: Final = "shedlab:heartbeats"
UTILIZATION_KEY: Final = "shedlab:utilization"
JOB_RETENTION_S: Final = 600
SERVICE_KEY_PREFIX: Final = "shedlab:service:"
SERVICE_SAMPLES: Final = 200
UNSETTLED_KEY: Final = "shedlab:unsettled"
CLASSES_KEY: Final = "shedlab:classes"
WAITS_KEY: Final = "shedlab:waits"
REFUSED_KEY: Final = "shedlab:refused"
REFUSED_UNTIL_KEY: Final = "shedlab:refused_until"
MOST_REFUSED_CLIENTS: Final = 10_000

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
# OpenAI's clients heed it: "false" where no retry can succeed.
HEADER_SHOULD_RETRY: Final = "x-should-retry"
# OpenAI's clients send it: 0 with the first try.
HEADER_RETRY_COUNT: Final = "x-stainless-retry-count"

# Requests the runner sends to see that the stack works; they stay out of every measure and of the book.
PROBE_PREFIX: Final = "probe-"

# Reason codes of a decision.
REASON_ADMITTED: Final = "admitted"
REASON_QUEUE_AGE: Final = "queue_age"
REASON_QUEUE_DEPTH: Final = "queue_depth"
REASON_UTILIZATION: Final = "utilization"
REASON_DEADLINE_SLACK: Final = "deadline_slack"
# Not even an idle system would be expected to meet the deadline.
REASON_DEADLINE_UNMEETABLE: Final = "deadline_unmeetable"
REASON_SLACK_ABOVE_MAX: Final = "slack_above_max"
REASON_QUEUE_FULL: Final = "queue_full"
REASON_DRAINING: Final = "draining"
# As a shed, where a gate is told to reject while it has no queue; else it is refused in error.
REASON_QUEUE_UNREACHABLE: Final = "queue_unreachable"
# Enqueued past the gate, with no decision: what stands there as the reason and as the policy.
REASON_BYPASS: Final = "bypass"
POLICY_BYPASS: Final = "bypass"
# Error code of a shed whose client came back too early too often; the reason stays the policy's.
CODE_HARD_BACKOFF: Final = "hard_backoff"

# The tenant of requests that name none: nobody in particular.
DEFAULT_TENANT: Final = "default"

# Reason codes of a refusal in error, with their HTTP status.
REFUSAL_STATUS: Final = {
    "bad_request": 400,
    "not_found": 404,
    "too_large": 413,
    "draining": 503,
    "queue_unreachable": 503,
    "internal_error": 500,
    # Said by the edge: whoever it routes to does not answer.
    "route_unreachable": 502,
}

OUTCOMES: Final = ("ok", "late", "expired", "timeout", "error", "dead_lettered", "unfinished", "lost")

# Names of the proxied links in Toxiproxy.
PROXY_NAMES: Final = {"model": "model", "redis": "redis"}

# The ways from the edge to the queue: through the gate, or past it by the enqueue endpoint.
Route = Literal["gate", "bypass"]

# Exit codes of the front desk and of the services.
EXIT_OK: Final = 0
EXIT_DEVIATED: Final = 1
EXIT_USAGE: Final = 2
EXIT_COULD_NOT_RUN: Final = 3
EXIT_TOO_CLOSE: Final = 4
EXIT_INTERRUPTED: Final = 130
