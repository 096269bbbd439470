"""What the testbeds tell each service through its environment: one scenario gives the same settings on every testbed.

Each service reads these names once, in its own settings.py, and refuses values it cannot use.
"""

import json

from lab.contract.policy_spec import POLICY_ADAPTER, PolicySpec
from lab.contract.scenario import Scenario, Stack

# Every service
HOST = "HOST"
PORT = "PORT"
REDIS_URL = "REDIS_URL"
SERVICE_ID = "SERVICE_ID"
HOSTNAME = "HOSTNAME"  # a container's own name, where no SERVICE_ID is given
METRICS_PORT = "METRICS_PORT"  # a worker serves its Prometheus metrics on HOST at this port; off where this is not set

# Gate
POLICY = "POLICY"  # the policy's spec as JSON, such as {"kind":"queue_age","max_age":"2s","mode":"enforce"}
POLICY_LETTER = "POLICY_LETTER"
UTILIZATION_SMOOTHING_S = "UTILIZATION_SMOOTHING_S"
HEARTBEAT_S = "HEARTBEAT_S"
ADMIT_ALWAYS = "ADMIT_ALWAYS"  # "1": whatever the policy's declared mode, it starts in mode off
# What a gate does with a request while Redis does not answer: "closed" refuses it in error (503), "reject" sheds it
# (429), "bypass" forwards its body to BYPASS_URL, an enqueue endpoint; it sheds it where that says no, and refuses it
# in error where it was cut off there.
ON_QUEUE_FAILURE = "ON_QUEUE_FAILURE"
BYPASS_URL = "BYPASS_URL"

# Worker
WORKER_SLOTS = "WORKER_SLOTS"
MODEL_URL = "MODEL_URL"
MODEL_NAME = "MODEL_NAME"
MODEL_API_KEY = "MODEL_API_KEY"
# Another host:port to connect to than MODEL_URL's, such as a proxy's; host name and TLS name stay those of MODEL_URL.
MODEL_CONNECT = "MODEL_CONNECT"
MODEL_CA_FILE = "MODEL_CA_FILE"  # PEM; certificates are checked against these authorities only
# "1" or "0": whether the model is told of jobs and declared work in x-job-* and x-lab-* headers. Where this is not set,
# only a plain http MODEL_URL without key and without MODEL_CONNECT is: everything else is taken for a real endpoint.
MODEL_LAB_HEADERS = "MODEL_LAB_HEADERS"
CONNECT_TIMEOUT_S = "CONNECT_TIMEOUT_S"
FIRST_TOKEN_TIMEOUT_S = "FIRST_TOKEN_TIMEOUT_S"  # noqa: S105 - the name of a setting, no secret
TOTAL_TIMEOUT_S = "TOTAL_TIMEOUT_S"
MAX_ATTEMPTS = "MAX_ATTEMPTS"
RECLAIM_AFTER_S = "RECLAIM_AFTER_S"
DRAIN_S = "DRAIN_S"
ALIVE_FILE = "ALIVE_FILE"  # touched as long as the worker's loop turns; unset: no such file
BREAKER_FAILURES = "BREAKER_FAILURES"  # the breaker is off where this is not set
BREAKER_OPEN_FOR_S = "BREAKER_OPEN_FOR_S"
BREAKER_PROBES = "BREAKER_PROBES"
RETRY_BUDGET_RATIO = "RETRY_BUDGET_RATIO"  # retries per first attempt; without bound where this is not set

# Model
MODEL_SLOTS = "MODEL_SLOTS"
TLS_CERT_FILE = "TLS_CERT_FILE"  # PEM, served over https where this and TLS_KEY_FILE are set
TLS_KEY_FILE = "TLS_KEY_FILE"
FALLBACK_MODELS = "FALLBACK_MODELS"  # further model names it answers to, with commas between them
SEED = "SEED"

# Load generator
SCHEDULE_FILE = "SCHEDULE_FILE"
TARGET_URL = "TARGET_URL"
SCHEDULE_LEAD_S = "SCHEDULE_LEAD_S"
ANSWER_TIMEOUT_S = "ANSWER_TIMEOUT_S"
LOAD_PAGE_PORT = "LOAD_PAGE_PORT"  # Locust's own page; unset or empty: headless, one play, then the end

DEFAULT_MODEL_NAME = "lab-model"
# How long a worker that is told to stop may go on with what it runs.
WORKER_DRAIN_S = 5.0


def policy_json(policy: PolicySpec) -> str:
    """The POLICY value of one policy; what it was derived from stays behind."""
    return json.dumps(POLICY_ADAPTER.dump_python(policy, mode="json", exclude={"why"}), separators=(",", ":"))


def gate_environment(scenario: Scenario, letter: str) -> dict[str, str]:
    """The gate's settings that follow from the scenario and the arm's policy; BYPASS_URL is the testbed's to tell."""
    return {
        POLICY: policy_json(scenario.policies[letter]),
        POLICY_LETTER: letter,
        UTILIZATION_SMOOTHING_S: repr(scenario.stack.utilization_smoothing),
        HEARTBEAT_S: repr(scenario.stack.heartbeat),
        ON_QUEUE_FAILURE: scenario.stack.on_queue_failure,
    }


def worker_environment(scenario: Scenario) -> dict[str, str]:
    """A worker's settings that follow from the scenario."""
    stack = scenario.stack
    return {
        WORKER_SLOTS: str(stack.slots),
        MODEL_NAME: DEFAULT_MODEL_NAME,
        CONNECT_TIMEOUT_S: repr(stack.connect_timeout),
        FIRST_TOKEN_TIMEOUT_S: repr(stack.first_token_timeout),
        TOTAL_TIMEOUT_S: repr(stack.total_timeout),
        MAX_ATTEMPTS: str(stack.max_attempts),
        HEARTBEAT_S: repr(stack.heartbeat),
        RECLAIM_AFTER_S: repr(stack.reclaim_after),
        DRAIN_S: repr(WORKER_DRAIN_S),
        **_guards(stack),
    }


def _guards(stack: Stack) -> dict[str, str]:
    """What keeps a worker from hammering a provider that fails; nothing where it is not declared."""
    guards = {}
    if stack.breaker is not None:
        guards[BREAKER_FAILURES] = str(stack.breaker.failures)
        guards[BREAKER_OPEN_FOR_S] = repr(stack.breaker.open_for)
        guards[BREAKER_PROBES] = str(stack.breaker.probes)
    if stack.retry_budget is not None:
        guards[RETRY_BUDGET_RATIO] = repr(stack.retry_budget)
    return guards


def fallback_models(scenario: Scenario) -> list[str]:
    """The models that policies send degraded jobs to, in order."""
    # Not every policy degrades, and not every one that does names a model.
    named = {getattr(getattr(policy, "degrade", None), "model", None) for policy in scenario.policies.values()}
    return sorted(name for name in named if name is not None)


def model_environment(scenario: Scenario) -> dict[str, str]:
    """The mock model's settings that follow from the scenario."""
    fallbacks = fallback_models(scenario)
    return {
        **({FALLBACK_MODELS: ",".join(fallbacks)} if fallbacks else {}),
        MODEL_SLOTS: str(scenario.stack.model_slots),
        SEED: str(scenario.workload.seed),
        MODEL_NAME: DEFAULT_MODEL_NAME,
    }


def loadgen_environment(scenario: Scenario) -> dict[str, str]:
    """The load generator's settings that follow from the scenario."""
    return {ANSWER_TIMEOUT_S: repr(scenario.client.answer_timeout)}
