"""Doubts of many arms, grouped: what is the same is said once, and nothing that differs is lost."""

from lab.reporter.doubt_groups import DoubtGroup, group_doubts
from lab.reporter.doubts import CODES, Doubt

ARMS = ("A-1", "B-1", "C-1", "D-1", "E-1", "F-1")


def test_the_same_doubt_about_six_arms_is_one_that_names_them() -> None:
    (group,) = group_doubts(Doubt("host_saturated", arm, "the machine was busy") for arm in ARMS)
    assert group == DoubtGroup("host_saturated", ARMS, "the machine was busy")
    assert group.advice == CODES["host_saturated"]


def test_figures_that_differ_become_their_range() -> None:
    said = [f"fault: p95 rests on {count} admitted jobs, fewer than 5 beyond it" for count in ("1,048", "47", "52")]
    (group,) = group_doubts(Doubt("too_few_samples", arm, one) for arm, one in zip(ARMS, said, strict=False))
    assert group.sentence == "fault: p95 rests on 47 to 1,048 admitted jobs, fewer than 5 beyond it"


def test_a_comma_after_a_figure_is_no_part_of_it() -> None:
    said = [f"0.3 of 2 cores between second 0 and {end}, 0.7 between {end} and 99" for end in (47, 48)]
    (group,) = group_doubts(Doubt("other_work", arm, one) for arm, one in zip(ARMS, said, strict=False))
    assert group.sentence == "0.3 of 2 cores between second 0 and 47 to 48, 0.7 between 47 to 48 and 99"


def test_what_differs_in_more_than_figures_stays_apart_and_in_order() -> None:
    doubts = [
        Doubt("fault_touched_nothing", "A-1", "the fault latency-1 touched no connection"),
        Doubt("fault_touched_nothing", "B-1", "the fault latency-2 touched no connection"),
        Doubt("leftovers", "A-1", "the fault latency-1 touched no connection"),
        Doubt("fault_touched_nothing", "C-1", "the fault latency-1 touched no connection"),
    ]
    found = [(group.code, group.arms) for group in group_doubts(doubts)]
    assert found == [
        ("fault_touched_nothing", ("A-1", "C-1")),
        ("fault_touched_nothing", ("B-1",)),
        ("leftovers", ("A-1",)),
    ]


def test_an_arm_with_the_same_doubt_twice_is_named_once() -> None:
    (group,) = group_doubts([Doubt("leftovers", "A-1", "2 toxics"), Doubt("leftovers", "A-1", "3 toxics")])
    assert (group.arms, group.sentence) == (("A-1",), "2 to 3 toxics")


def test_no_doubts_make_no_groups() -> None:
    assert group_doubts([]) == ()
