"""What a report says of other work on the machine."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lab.reporter.host import HostLoad, host_load, other_work

START_AT = 1_000.0


def load(others: Sequence[float | None], pressures: Sequence[float | None] | None = None, cores: int = 2) -> HostLoad:
    """One sample a second, the first at the end of the load's first second."""
    samples = {
        "at": [START_AT + 1 + number for number in range(len(others))],
        "cpu_ratio": [0.5] * len(others),
        "other_cpu_cores": np.array(others, dtype=float),
        "cpu_pressure_ratio": np.array(pressures or [None] * len(others), dtype=float),
    }
    return host_load(pd.DataFrame(samples), {"cores": cores}, START_AT, len(others) + 1.0)


def test_a_single_busy_second_is_no_doubt() -> None:
    assert list(other_work(load([0.0, 0.0, 1.5, 0.0, 0.0]))) == []


def test_a_short_lull_does_not_end_a_stretch() -> None:
    assert list(other_work(load([0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))) == [
        "other work took 0.5 of 2 cores between second 1 and 5"
    ]


def test_stretches_are_told_in_order_and_the_shorter_ones_counted() -> None:
    lull, short, long = [0.0] * 3, [1.0] * 2, [0.5] * 4
    said = list(other_work(load([*short, *lull, *long, *lull, *long, *lull, *long, *lull, *short])))
    told = "0.5 of 2 cores between second 5 and 9, 0.5 between 12 and 16, 0.5 between 19 and 23"
    assert said == [f"other work took {told}, and some for shorter times"]


def test_what_matters_on_two_cores_does_not_on_many() -> None:
    assert list(other_work(load([0.9] * 10, cores=64))) == []


def test_the_pressure_is_told_beside_the_work() -> None:
    said = list(other_work(load([0.9] * 10, [0.25] * 10)))
    assert said == ["other work took 0.9 of 2 cores between second 0 and 10; tasks waited for a core 25 % of that time"]


def test_where_other_work_is_not_known_only_high_pressure_is_a_doubt() -> None:
    assert list(other_work(load([None] * 10, [0.6] * 10))) == []
    assert list(other_work(load([None] * 10, [0.8] * 10))) == [
        "tasks waited for a core 80 % of the time between second 0 and 10; whose work kept them waiting is not known"
    ]


def test_what_is_not_known_is_said_so_and_is_not_zero() -> None:
    unknown = load([None] * 10)
    assert unknown.other_cores is None
    assert unknown.pressure_ratio is None
    assert unknown.words() == "not known"
    assert list(other_work(unknown)) == []


def test_samples_of_the_drain_do_not_count() -> None:
    calm_then_busy = pd.DataFrame(
        {
            "at": [START_AT + 1, START_AT + 2, START_AT + 3, START_AT + 4],
            "cpu_ratio": [0.1, 0.1, 0.9, 0.9],
            "other_cpu_cores": [0.0, 0.0, 2.0, 2.0],
            "cpu_pressure_ratio": [0.0, 0.0, 1.0, 1.0],
        }
    )
    during = host_load(calm_then_busy, {"cores": 2}, START_AT, 2.5)
    assert (during.busy_ratio, during.other_cores) == (0.1, 0.0)
    assert list(other_work(during)) == []
