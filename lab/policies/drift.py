"""Drift: a class whose expected service time more than doubled within a minute is a regime change worth an alert.

    drift iff  est(now) > 2 * min(est over the last `within`)

est     the class's estimate, seconds, once it is no longer cold: what is learnt from nothing only looks like drift
within  within_s, seconds; 60 s

After a drift was said the watch begins anew at the estimate it was said for, so that one change is said once.

Source: DRILLS.md section 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from lab.policies.estimate import Estimate

DRIFT_FACTOR = 2.0


@dataclass(frozen=True, slots=True)
class Drift:
    """A class's estimate rose from one to the other, in seconds, within so many seconds."""

    job_class: str
    from_s: float
    to_s: float
    within_s: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """An estimate and when it was seen last, in unix seconds."""

    service_s: float
    last_at: float


@dataclass(frozen=True, slots=True)
class DriftWatch:
    """A value: looking gives a new one."""

    within_s: float
    seen: Mapping[str, tuple[_Seen, ...]] = field(default_factory=dict)

    def after(self, at: float, estimates: Mapping[str, Estimate]) -> tuple[Self, tuple[Drift, ...]]:
        """The watch after these estimates at `at` (unix seconds), and the drifts they are."""
        seen, drifts = {}, list[Drift]()
        for job_class, estimate in estimates.items():
            if estimate.cold:
                continue
            now = _Seen(estimate.service_s, at)
            recent = self._recent(job_class, now)
            lowest_s = min(one.service_s for one in recent)
            if now.service_s > DRIFT_FACTOR * lowest_s:
                drifts.append(Drift(job_class, lowest_s, now.service_s, self.within_s))
                recent = (now,)
            seen[job_class] = recent
        return replace(self, seen=seen), tuple(drifts)

    def _recent(self, job_class: str, now: _Seen) -> tuple[_Seen, ...]:
        # An estimate that stays is one entry, seen last now.
        former = [one for one in self.seen.get(job_class, ()) if one.service_s != now.service_s]
        return (*(one for one in former if now.last_at - one.last_at <= self.within_s), now)
