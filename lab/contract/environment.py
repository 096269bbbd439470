"""What the testbeds tell each service through its environment: one scenario gives the same settings on every testbed.

Each service reads these names once, in its own settings.py, and refuses values it cannot use.
"""

import json

from lab.contract.policy_spec import POLICY_ADAPTER, PolicySpec
from lab.contract.scenario import Scenario

# Every service
HOST = "HOST"
PORT = "PORT"
REDIS_URL = "REDIS_URL"
SERVICE_ID = "SERVICE_ID"

# Gate
POLICY = "POLICY"  # the policy's spec as JSON, such as {"kind":"queue_age","max_age":"2s","mode":"enforce"}
POLICY_LETTER = "POLICY_LETTER"
UTILIZATION_SMOOTHING_S = "UTILIZATION_SMOOTHING_S"
HEARTBEAT_S = "HEARTBEAT_S"
ADMIT_ALWAYS = "ADMIT_ALWAYS"  # "1": whatever the policy's declared mode, it starts in mode off
# What a gate does with a request while Redis does not answer: "closed" refuses it in error (503), "reject" sheds it
# (429), "bypass" forwards its body to BYPASS_URL, an enqueue endpoint, and sheds it where that fails.
ON_QUEUE_FAILURE = "ON_QUEUE_FAILURE"
BYPASS_URL = "BYPASS_URL"

# Worker
WORKER_SLOTS = "WORKER_SLOTS"
MODEL_URL = "MODEL_URL"
MODEL_NAME = "MODEL_NAME"
MODEL_API_KEY = "MODEL_API_KEY"
CONNECT_TIMEOUT_S = "CONNECT_TIMEOUT_S"
FIRST_TOKEN_TIMEOUT_S = "FIRST_TOKEN_TIMEOUT_S"  # noqa: S105 - the name of a setting, no secret
TOTAL_TIMEOUT_S = "TOTAL_TIMEOUT_S"
MAX_ATTEMPTS = "MAX_ATTEMPTS"
RECLAIM_AFTER_S = "RECLAIM_AFTER_S"
DRAIN_S = "DRAIN_S"

# Model
MODEL_SLOTS = "MODEL_SLOTS"
SEED = "SEED"

# Load generator
SCHEDULE_FILE = "SCHEDULE_FILE"
TARGET_URL = "TARGET_URL"
SCHEDULE_LEAD_S = "SCHEDULE_LEAD_S"
ANSWER_TIMEOUT_S = "ANSWER_TIMEOUT_S"

DEFAULT_MODEL_NAME = "lab-model"
# How long a worker that is told to stop may go on with what it runs.
WORKER_DRAIN_S = 5.0


def policy_json(policy: PolicySpec) -> str:
    """The POLICY value of one policy; what it was derived from stays behind."""
    return json.dumps(POLICY_ADAPTER.dump_python(policy, mode="json", exclude={"why"}), separators=(",", ":"))


def gate_environment(scenario: Scenario, letter: str) -> dict[str, str]:
    """The gate's settings that follow from the scenario and the arm's policy."""
    return {
        POLICY: policy_json(scenario.policies[letter]),
        POLICY_LETTER: letter,
        UTILIZATION_SMOOTHING_S: repr(scenario.stack.utilization_smoothing),
        HEARTBEAT_S: repr(scenario.stack.heartbeat),
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
    }


def model_environment(scenario: Scenario) -> dict[str, str]:
    """The mock model's settings that follow from the scenario."""
    return {
        MODEL_SLOTS: str(scenario.stack.model_slots),
        SEED: str(scenario.workload.seed),
        MODEL_NAME: DEFAULT_MODEL_NAME,
    }


def loadgen_environment(scenario: Scenario) -> dict[str, str]:
    """The load generator's settings that follow from the scenario."""
    return {ANSWER_TIMEOUT_S: repr(scenario.client.answer_timeout)}
