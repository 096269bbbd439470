from lab.contract.loading import parse_scenario
from lab.contract.rewriting import with_policy_values

TEXT = """\
# Why this drill is.
name: small
summary: A small drill.   # kept
slo: {measure: ttft, within: 1s}
workload:
  seed: 3
  duration: 18s
  arrivals: {kind: poisson, rate: 3/s}
  classes:
    chat: {service: {kind: constant, time: 400ms}, deadline: 7s}
faults:
  - {kind: latency, at: 6s, for: 6s, latency: 800ms}  # slower
policies:
  B: {kind: queue_age, max_age: 400ms}   # old rule
  C:
    kind: queue_depth
    # Rule of thumb.
    max_depth: 40
"""


def test_only_what_is_changed_changes_and_every_comment_stays() -> None:
    written = with_policy_values(TEXT, "other", {"B": {"max_age": "1.5s"}, "C": {"max_depth": 7, "why": "Derived."}})
    changed = [
        (old, new)
        for old, new in zip(TEXT.splitlines(), written.splitlines(), strict=False)
        if old.strip() != new.strip()
    ]
    assert changed == [
        ("name: small", "name: other"),
        ("  B: {kind: queue_age, max_age: 400ms}   # old rule", "  B: {kind: queue_age, max_age: 1.5s}    # old rule"),
        ("    max_depth: 40", "    max_depth: 7"),
    ]
    assert written.splitlines()[-1] == "    why: Derived."
    assert parse_scenario(written, "other").policies["C"].why == "Derived."
