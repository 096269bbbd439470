"""The comparison as the terminal shows it: one row per arm, few enough columns for a night shift. Pure."""

from lab.reporter.arm import ArmReport
from lab.reporter.catalogue import BY_NAME
from lab.reporter.recovery import recovery_words
from lab.reporter.wording import measured

_SHOWN = (
    ("offered", "all", "offered"),
    ("admitted", "all", "admitted"),
    ("shed", "all", "shed_rate"),
    ("missed", "all", "deadline_miss_rate"),
    ("p95 first token: baseline", "baseline", "p95_ttft_s"),
    ("fault", "fault", "p95_ttft_s"),
    ("recovery", "recovery", "p95_ttft_s"),
    ("goodput", "all", "goodput_per_s"),
    ("wasted", "all", "wasted_work_ratio"),
    ("peak age", "all", "peak_queue_age_s"),
    ("peak depth", "all", "peak_queue_depth"),
    ("recovered in", "all", "recovery_time_s"),
)
COLUMNS: tuple[str, ...] = ("arm", "policy", "verdict", "expected", *(title for title, _, _ in _SHOWN))


def terminal_row(arm: ArmReport) -> tuple[str, ...]:
    """One arm's cells, in the order of COLUMNS."""
    cells = (_cell(arm, phase, name) for _, phase, name in _SHOWN)
    return (arm.name, arm.header.kind, _verdict(arm), arm.judgement.expected or "", *cells)


def _verdict(arm: ArmReport) -> str:
    return f"{arm.judgement.verdict}, too close" if arm.judgement.too_close else arm.judgement.verdict


def _cell(arm: ArmReport, phase: str, name: str) -> str:
    if phase not in arm.phases:
        return measured(None, "s")
    value = arm.phases[phase].numbers.get(name)
    if name == "recovery_time_s":
        return recovery_words(value, arm.header.scenario)
    return measured(value, BY_NAME[name].unit)
