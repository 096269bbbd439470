"""What policies do, in words; kinds that are not declared yet by their keys alone."""

from types import SimpleNamespace
from typing import Any

import pytest

from lab.contract.policy_spec import QueueAgePolicy
from lab.reporter.wording import measured, policy_words, unbroken
from tests.unit.workload_drills import G, slack, slack_v1


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (QueueAgePolicy(kind="queue_age", max_age="2s"), "sheds while the queue is older than 2 s"),  # type: ignore[arg-type]  # as YAML writes it
        (slack(), "sheds what is not expected to be done 0.25 s before its deadline"),
        (
            slack(max_slack=1.5),
            "sheds what is not expected to be done 0.25 s before its deadline, or has more than 1.5 s",
        ),
        (slack_v1(), "sheds what is projected to have no more than 5 s of slack left"),
        (G, "sheds while the queue is older than 25 s, or 4 are in flight and more than 2 times that wait"),
        (SimpleNamespace(kind="coin_toss"), "coin toss"),
        (slack_v1(degrade=SimpleNamespace(at=0.5)), "left; degrades from 50 % of its threshold"),
        (slack_v1(degrade=SimpleNamespace(at=SimpleNamespace(duration=9.0))), "left; degrades from 9 s"),
        (slack_v1(degrade=SimpleNamespace(at=7)), "left; degrades from 7"),
    ],
)
def test_each_kind_says_what_it_does(policy: Any, words: str) -> None:
    assert policy_words(policy).endswith(words)


def test_a_factor_reads_as_one() -> None:
    assert measured(2.0, "factor") == "2.00 x"


def test_no_line_ends_between_a_number_and_its_unit() -> None:
    assert unbroken("from 0.15 s, not known above, 3.0 % of 20 jobs") == (
        "from 0.15\N{NO-BREAK SPACE}s, not known above, 3.0\N{NO-BREAK SPACE}% of 20 jobs"
    )
