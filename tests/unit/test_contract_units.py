"""Durations, rates and ratios as people write them."""

import pytest

from lab.contract.units import parse_duration, parse_rate, parse_ratio, shown, write_duration, write_rate


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("350ms", 0.35),
        ("2s", 2.0),
        ("1.5s", 1.5),
        ("5m", 300.0),
        ("1h", 3600.0),
        ("20us", 2e-5),
        (" 7 s ", 7.0),
        ("0s", 0.0),
    ],
)
def test_a_duration_is_read_in_seconds(written: str, seconds: float) -> None:
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize("written", [7, 7.0, "7", "", "s", "-2s", "2 sec", "1e3s", "2s3s", "inf s", None, True, ["2s"]])
def test_what_is_no_duration_with_a_unit_is_refused_with_an_example(written: object) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write a number .* such as 350ms, 2s or 5m"):
        parse_duration(written)


@pytest.mark.parametrize(("written", "per_second"), [("40/s", 40.0), ("6/m", 0.1), ("7200 / h", 2.0), ("0/s", 0.0)])
def test_a_rate_is_read_per_second(written: str, per_second: float) -> None:
    assert parse_rate(written) == pytest.approx(per_second)


@pytest.mark.parametrize("written", [40, "40", "-1/s", "40/ms", "/s", "40s", None])
def test_what_is_no_rate_with_a_unit_is_refused_with_an_example(written: object) -> None:
    with pytest.raises(ValueError, match=r"is not a rate; write a number .* such as 40/s or 6/m"):
        parse_rate(written)


def test_a_number_too_large_for_a_float_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a finite number"):
        parse_duration("9" * 400 + "s")


@pytest.mark.parametrize(("written", "ratio"), [("80%", 0.8), (0.8, 0.8), (1, 1.0), ("0%", 0.0), ("12.5 %", 0.125)])
def test_a_ratio_is_read_from_a_percentage_or_a_number(written: object, ratio: float) -> None:
    assert parse_ratio(written) == pytest.approx(ratio)


@pytest.mark.parametrize("written", ["101%", 1.01, -0.1, "0.8", True, None, float("nan")])
def test_what_is_no_ratio_is_refused_with_its_bounds(written: object) -> None:
    with pytest.raises(ValueError, match=r"is not a ratio; write a percentage from 0% to 100% or a number from 0 to 1"):
        parse_ratio(written)


@pytest.mark.parametrize("seconds", [0.0, 2e-5, 0.35, 1.0, 1.6, 300.0])
def test_a_written_duration_reads_back_as_it_was(seconds: float) -> None:
    assert parse_duration(write_duration(seconds)) == pytest.approx(seconds)


def test_a_written_rate_reads_back_as_it_was() -> None:
    assert parse_rate(write_rate(12.5)) == pytest.approx(12.5)


def test_a_value_is_shown_short_whatever_it_is() -> None:
    assert shown("x" * 1000) == f"'{'x' * 56}..."
    assert shown([[1] * 1000] * 1000) == "a list"
    assert shown({"a": 1}) == "a mapping"
    assert shown(7) == "7"
