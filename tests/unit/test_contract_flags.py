"""Faults and policies as a command line says them."""

import pytest

from lab.contract.fault_spec import LatencyFault, ModelFault
from lab.contract.flags import (
    FAULT_KINDS,
    POLICY_KINDS,
    FlagError,
    fault_json,
    flags_of,
    kind_help,
    read_fault,
    read_policy,
)

NOW = {"at": "0s", "for": "60s"}


def test_every_kind_of_the_contract_can_be_said() -> None:
    assert set(FAULT_KINDS) == {
        *("noop", "latency", "bandwidth", "slow_close", "timeout", "reset_peer", "slicer", "limit_data"),
        *("proxy_down", "model", "process"),
    }
    assert set(POLICY_KINDS) == {
        *("none", "queue_age", "queue_depth", "utilization", "deadline_slack", "slack_v1", "age_or_full"),
    }
    assert all(kind_help(model).endswith(".") for model in (*FAULT_KINDS.values(), *POLICY_KINDS.values()))


def test_flags_follow_the_models() -> None:
    flags = {flag.key: flag for flag in flags_of(FAULT_KINDS["latency"], frozenset(("at",)))}
    assert set(flags) == {"for", "link", "stream", "toxicity", "latency", "jitter"}
    assert (flags["latency"].required, flags["latency"].shown, flags["latency"].option) == (True, "TIME", "--latency")
    assert (flags["jitter"].required, flags["jitter"].default) == (False, "0s")
    assert flags["link"].choices == ("model", "redis")
    (classes,) = (flag for flag in flags_of(FAULT_KINDS["model"], frozenset()) if flag.key == "classes")
    assert classes.many
    (age,) = flags_of(POLICY_KINDS["queue_age"], frozenset(("why", "mode")))
    assert age.option == "--max-age"


def test_texts_are_read_as_yaml_would_read_them() -> None:
    latency = read_fault({"kind": "latency", **NOW, "latency": "800ms", "toxicity": "50%"})
    assert isinstance(latency, LatencyFault)
    assert (latency.latency, latency.toxicity, latency.lasts) == (0.8, 0.5, 60.0)
    model = read_fault({"kind": "model", **NOW, "slow_factor": "3", "failure_ratio": "0.2", "classes": ("chat",)})
    assert isinstance(model, ModelFault)
    assert (model.slow_factor, model.failure_ratio, model.classes) == (3.0, 0.2, ("chat",))
    assert read_policy({"kind": "queue_depth", "max_depth": "40"}).mode == "enforce"


@pytest.mark.parametrize("kind", sorted(FAULT_KINDS))
def test_a_fault_survives_being_written_down(kind: str) -> None:
    words = {"latency": "1s", "delay": "1s", "timeout": "1s", "rate_kb_per_s": "9", "limit_bytes": "9"}
    words |= {"average_size_bytes": "9", "service": "gate", "action": "kill"}
    needed = {
        flag.key: words[flag.key] for flag in flags_of(FAULT_KINDS[kind], frozenset(("at", "for"))) if flag.required
    }
    fault = read_fault({"kind": kind, **NOW, **needed})
    assert read_fault(fault_json(fault)) == fault


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ({"kind": "latency", **NOW, "latency": "800"}, "--latency: 800 is not a duration; write a number that is not"),
        ({"kind": "latency", **NOW}, "--latency is missing; say it"),
        ({"kind": "latency", **NOW, "latency": "1s", "toxicity": "2"}, "--toxicity: 2 is not a ratio"),
        ({"kind": "latency", **NOW, "latency": "1s", "for": "0s"}, "--for: input should be greater than 0"),
        ({"kind": "model", **NOW, "slow_factor": "0.5"}, "--slow-factor: input should be greater than or equal to 1"),
        ({"kind": "process", **NOW, "service": "gat", "action": "kill"}, "--service: input should be 'worker', 'gate'"),
        ({"kind": "process", **NOW, "service": "gate", "action": "scale"}, "process: replicas goes with action scale"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_its_flag(said: dict[str, str], sentence: str) -> None:
    with pytest.raises(FlagError) as refused:
        read_fault(said)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)
