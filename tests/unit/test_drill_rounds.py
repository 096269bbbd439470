"""REPEATS=auto: which policies are played again, how often, and with whose arrivals."""

import asyncio
from pathlib import Path
from typing import Literal

from lab.contract.loading import load_scenario
from lab.drill.plan import Plan, make_plan
from lab.drill.request import DrillRequest
from lab.drill.rounds import rounds
from tests.journals import SMALL


def request_in(folder: Path, repeats: int | Literal["auto"] = "auto", only: tuple[str, ...] = ()) -> DrillRequest:
    path = folder / "small.yaml"
    path.write_text(SMALL, encoding="utf-8")
    return DrillRequest(load_scenario(path), "local", 1.0, 1, repeats, only, folder / "reports")


def played(request: DrillRequest, answers: list[tuple[str, ...]]) -> list[Plan]:
    """The plans that come where these are too close to call after each round."""
    plan, left = make_plan(request, "local", "", 2), iter(answers)

    async def collect() -> list[Plan]:
        return [each async for each in rounds(plan, request, lambda _run_dir: next(left))]

    return asyncio.run(collect())


def names(plans: list[Plan]) -> list[list[str]]:
    return [[arm.name for arm in plan.arms] for plan in plans]


def test_what_is_too_close_is_played_again_until_it_is_not(tmp_path: Path) -> None:
    plans = played(request_in(tmp_path), [("A", "B"), ("B",), ()])
    assert names(plans) == [["A-1", "B-1"], ["A-2", "B-2"], ["B-3"]]


def test_it_is_played_five_times_in_all_at_most(tmp_path: Path) -> None:
    assert names(played(request_in(tmp_path), [("B",)] * 4))[-1] == ["B-5"]


def test_a_policy_that_was_sure_once_or_is_not_asked_for_is_not_played_again(tmp_path: Path) -> None:
    assert names(played(request_in(tmp_path), [("B",), ("A",)])) == [["A-1", "B-1"], ["B-2"]]
    (tmp_path / "other").mkdir()
    assert names(played(request_in(tmp_path / "other", only=("A",)), [("B",)])) == [["A-1"]]


def test_a_later_repeat_has_the_arrivals_that_it_has_with_a_number_of_repeats(tmp_path: Path) -> None:
    again = played(request_in(tmp_path), [("A",), ()])[-1]
    (tmp_path / "other").mkdir()
    (fixed,) = played(request_in(tmp_path / "other", repeats=2), [])
    assert again.schedules[2].sha256 == fixed.schedules[2].sha256 != fixed.schedules[1].sha256
    assert again.run_dir != fixed.run_dir
