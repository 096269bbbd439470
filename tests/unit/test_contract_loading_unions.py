"""Where the kind of a part is spelled like one of its keys, a sentence still names the right key."""

import pytest

from lab.contract.loading import ScenarioError, parse_scenario

TINY = """\
name: tiny
summary: A small drill.
slo: {within: 1s}
workload:
  seed: 1
  duration: 10s
  arrivals: {kind: stages, stages: [{lasts: 10s, start_rate: 1/s, end_rate: 5/s}]}
  classes: {chat: {service: {kind: constant, time: 100ms}, deadline: 2s}}
faults:
  - {kind: latency, at: 2s, for: 2s, latency: 300ms}
policies: {A: {kind: none}}
"""


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("latency: 300ms", "latency: 1s, jiter: 1s", "10: faults[0].jiter: is not a known key; did you mean 'jitter'?"),
        (", latency: 300ms", "", "10: faults[0].latency: is missing; add this key"),
        ("kind: latency, at", "kind: timeout, at", "10: faults[0].timeout: is missing; add this key"),
        (
            "lasts: 10s",
            "lasts: 5s",
            "7: workload.arrivals.stages: the stages last 5 s and duration is 10 s; they must be equal",
        ),
    ],
)
def test_a_key_spelled_like_its_kind_is_found(right: str, wrong: str, sentence: str) -> None:
    assert right in TINY
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(TINY.replace(right, wrong, 1), "tiny.yaml")
    assert str(caught.value).splitlines()[0] == f"tiny.yaml:{sentence}"
