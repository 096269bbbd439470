"""The queue of a stack that admits everything, against arithmetic done by hand."""

import numpy as np
import pytest

from lab.contract.scenario import Scenario
from lab.workload.fluid import Unshed, admit_all
from tests.unit.workload_scenarios import fault, played, scenario, slow_by_800_ms


def unshed(declared: Scenario) -> Unshed:
    found = admit_all(declared)
    assert found is not None
    return found


def queued_at(found: Unshed, at_s: float) -> float:
    return float(np.interp(at_s, found.at_s, found.queued_count))


def test_the_queue_grows_through_the_fault_and_is_gone_soon_after() -> None:
    # 10/s in and 6.67/s out for 20 s leave 66.7; then 20/s out takes 6.67 s.
    found = unshed(slow_by_800_ms())
    queued = [queued_at(found, at_s) for at_s in (19, 30, 40, 43, 46.7, 60)]
    assert queued == pytest.approx([0, 33.3, 66.7, 36.7, 0, 0], abs=0.1)


def test_the_wait_peaks_at_the_job_that_is_served_as_the_fault_ends() -> None:
    # Due t into the fault, a job waits t/2; the last served within the 20 s of fault is due at 13.3 s and waits 6.7 s.
    peak = unshed(slow_by_800_ms()).peaks["fault"]
    assert peak.wait_s == pytest.approx(20 / 3, abs=0.05)
    assert peak.ttft_s == peak.measure_s == pytest.approx(20 / 3 + 0.9, abs=0.05)


def test_who_comes_after_the_fault_waits_for_what_it_left() -> None:
    # 66.7 jobs at 20/s are 3.3 s, and the model is quick again.
    found = unshed(slow_by_800_ms())
    assert found.peaks["recovery"].wait_s == pytest.approx(10 / 3, abs=0.05)
    assert found.peaks["recovery"].ttft_s == pytest.approx(10 / 3 + 0.1, abs=0.05)
    assert found.peaks["baseline"].wait_s == 0


def test_an_outage_makes_wait_as_long_as_it_lasts() -> None:
    found = unshed(scenario(fault("proxy_down", "20s", "10s")))
    assert found.peaks["fault"].wait_s == pytest.approx(10, abs=0.05)
    assert found.peaks["recovery"].wait_s == pytest.approx(5, abs=0.05)
    assert found.worst.load_ratio == float("inf")


def test_an_outage_that_outlasts_the_workload_makes_wait_for_ever() -> None:
    assert unshed(scenario(fault("proxy_down", "20s", "40s"))).peaks["fault"].wait_s == float("inf")


def test_what_is_left_at_the_end_is_served_at_the_last_rate() -> None:
    # 20 s at 3.33/s too many leave 66.7 jobs at the end, which take 10 s at 6.67/s.
    found = unshed(scenario(fault("latency", "40s", "20s", latency="800ms")))
    assert found.peaks["fault"].wait_s == pytest.approx(10, abs=0.05)


def test_a_ramp_overloads_only_once_it_is_above_what_is_served() -> None:
    # To 40/s in 60 s; served are 20/s. From 30 s on the queue grows by 20/s x 30 s / 2 = 300, which take 15 s.
    ramp = {"kind": "stages", "stages": [{"lasts": "60s", "start_rate": "0/s", "end_rate": "40/s"}]}
    found = unshed(scenario(arrivals=ramp))
    assert queued_at(found, 30) == pytest.approx(0, abs=0.01)
    assert queued_at(found, 60) == pytest.approx(300, abs=0.1)
    assert found.peaks["baseline"].wait_s == pytest.approx(15, abs=0.05)
    assert found.worst.load_ratio == pytest.approx(2, rel=0.001)


def test_a_burst_is_not_levelled_out_by_the_pause_after_it() -> None:
    # 40/s for 10 s leave 200 jobs of 20/s, though the mean rate is only 13.3/s.
    bursts = {"kind": "on_off", "on_rate": "40/s", "mean_on": "10s", "mean_off": "20s"}
    assert unshed(scenario(arrivals=bursts)).peaks["baseline"].wait_s == pytest.approx(10, abs=0.05)


def test_an_endpoint_that_takes_no_time_leaves_no_queue() -> None:
    chat = {"service": {"kind": "constant", "time": "0s"}, "deadline": "1s"}
    assert unshed(scenario(classes={"chat": chat})).peaks["baseline"].wait_s == 0


def test_a_replay_is_played_from_its_schedule_and_unknown_without() -> None:
    replay = scenario(fault("latency", latency="800ms"), arrivals={"kind": "replay", "file": "trace.csv"})
    assert admit_all(replay) is None
    found = admit_all(replay, played(*((n / 10, 0.4) for n in range(600))))
    assert found is not None
    assert found.peaks["fault"].wait_s == pytest.approx(20 / 3, abs=0.1)
