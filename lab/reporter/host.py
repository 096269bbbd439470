"""What the machine did while an arm played, and which of it was not the lab's. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

# Other work counts from this share of the machine's cores on; less than that, the arms do to each other.
OTHER_RATIO = 0.1
# Where whose work it was is not known: tasks that wait for a core more than this keep the arms waiting too.
PRESSURE_RATIO = 0.7
# Samples are a second apart. A doubt needs so many of them, and a lull of at most so many does not end it.
LEAST_SAMPLES = 2
LULL_SAMPLES = 2
# So many stretches are told one by one, the longest.
TOLD = 3


@dataclass(frozen=True, slots=True)
class HostLoad:
    """The samples within an arm's load. `cores` is None where the journal does not say, as in damaged ones.

    Columns of `samples`: `second` (end of the sampled second, from the first due time), `cpu_ratio`,
    `other_cpu_cores` (NaN: not known), `cpu_pressure_ratio` (NaN: the kernel does not tell).
    """

    cores: float | None
    samples: pd.DataFrame

    @property
    def busy_ratio(self) -> float | None:
        """Mean share of all cores that was busy; None without a sample."""
        return _mean(self.samples["cpu_ratio"])

    @property
    def other_cores(self) -> float | None:
        """Cores that other work took, in the mean; None where it is not known."""
        return _mean(self.samples["other_cpu_cores"])

    @property
    def pressure_ratio(self) -> float | None:
        """Share of the time in which a task waited for a core; None where it is not known."""
        return _mean(self.samples["cpu_pressure_ratio"])

    def words(self) -> str:
        """How much was other work, for a person."""
        if self.other_cores is None:
            return "not known"
        peak = self.samples["other_cpu_cores"].max()
        return f"{self.other_cores:.2f} cores in the mean, {peak:.2f} in the worst second"


def host_load(table: pd.DataFrame, host: dict[str, Any], start_at: float, end_s: float) -> HostLoad:
    """The samples from the first due time on until `end_s`; `host` is what the journal's header says of the machine."""
    cores = host.get("cores")
    samples = table.assign(second=table["at"] - start_at).sort_values("second")
    within = samples[samples["second"].gt(0) & samples["second"].lt(end_s)]
    return HostLoad(float(cores) if isinstance(cores, int | float) and cores > 0 else None, within)


def other_work(load: HostLoad) -> Iterator[str]:
    """A sentence where other work may have slowed the arm, with how much and when."""
    limit = OTHER_RATIO * (load.cores or 1.0)
    if load.other_cores is None:
        yield from _pressed_by_nobody_knows(load)
        return
    stretches = _stretches(load.samples, load.samples["other_cpu_cores"].ge(limit))
    if not stretches:
        return
    told = sorted(sorted(stretches, key=len, reverse=True)[:TOLD], key=lambda stretch: stretch["second"].iloc[0])
    of_cores = "" if load.cores is None else f" of {load.cores:g}"
    first, *others = told
    said = [f"{_taken(first)}{of_cores} cores between second {_when(first)}"]
    said += [f"{_taken(stretch)} between {_when(stretch)}" for stretch in others]
    more = ", and some for shorter times" if len(stretches) > TOLD else ""
    yield f"other work took {', '.join(said)}{more}{_waited(told)}"


def _taken(stretch: pd.DataFrame) -> str:
    return f"{stretch['other_cpu_cores'].mean():.1f}"


def _pressed_by_nobody_knows(load: HostLoad) -> Iterator[str]:
    for stretch in _stretches(load.samples, load.samples["cpu_pressure_ratio"].ge(PRESSURE_RATIO))[:1]:
        share = stretch["cpu_pressure_ratio"].mean()
        yield (
            f"tasks waited for a core {100 * share:.0f} % of the time between second {_when(stretch)}; "
            "whose work kept them waiting is not known"
        )


def _waited(stretches: list[pd.DataFrame]) -> str:
    share = _mean(pd.concat(stretches)["cpu_pressure_ratio"])
    return "" if share is None else f"; tasks waited for a core {100 * share:.0f} % of that time"


def _when(stretch: pd.DataFrame) -> str:
    return f"{max(0.0, stretch['second'].iloc[0] - 1):.0f} and {stretch['second'].iloc[-1]:.0f}"


def _stretches(samples: pd.DataFrame, above: pd.Series) -> list[pd.DataFrame]:
    """Runs of samples above a limit, short lulls within them included; each with at least LEAST_SAMPLES above it."""
    places = [place for place, over in enumerate(above) if over]
    runs: list[list[int]] = []
    for place in places:
        if runs and place - runs[-1][-1] - 1 <= LULL_SAMPLES:
            runs[-1].append(place)
        else:
            runs.append([place])
    return [samples.iloc[run[0] : run[-1] + 1] for run in runs if len(run) >= LEAST_SAMPLES]


def _mean(values: pd.Series) -> float | None:
    known = values.dropna()
    return None if known.empty else float(known.mean())
