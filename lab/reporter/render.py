"""The page: one self-contained HTML file. Everything a user or a service wrote passes through autoescape."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lab.reporter.alert_view import alert_rows
from lab.reporter.answer import answer
from lab.reporter.arm import ArmReport
from lab.reporter.catalogue import CATALOGUE
from lab.reporter.claims import claim_reports
from lab.reporter.comparison import PHASE_TITLES, by_policy, compare
from lab.reporter.deciding import deciding_rows
from lab.reporter.doubt_groups import DoubtGroup
from lab.reporter.machine import is_valid
from lab.reporter.plots import columns_of, draw_figures
from lab.reporter.trade import trade_of
from lab.reporter.trade_plot import draw_trade
from lab.reporter.wording import measured, policy_words, signed, slo_words, unbroken

SIGNAL_WORDS = {
    "queue_age_s": ("queue age", "s"),
    "queue_depth": ("queue depth", "count"),
    "utilization_ratio": ("utilization", "ratio"),
    "provider_ttft_s": ("provider latency (first token)", "s"),
    "negative_slack_ratio": ("negative slack, share of queued", "ratio"),
    "shed_ratio": ("rejection rate", "ratio"),
}
CAPACITY_COLUMNS = (
    ("arrival_rate_per_s", "arrivals", "per_s"),
    ("mean_service_s", "mean service", "s"),
    ("p95_service_s", "p95 service", "s"),
    ("offered_slots", "slots needed", "count"),
    ("slots", "slots there", "count"),
    ("load_ratio", "load", "ratio"),
    ("unavoidable_shed_ratio", "shed no policy can avoid", "ratio"),
)
CLASS_MEASURES = ("offered", "shed_rate", "deadline_miss_rate", "goodput_per_s", "p95_ttft_s", "p95_turnaround_s")


def render_html(arms: tuple[ArmReport, ...], doubts: tuple[DoubtGroup, ...]) -> str:
    """The whole page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"measured": measured, "signed": signed, "unbroken": unbroken}
    return environment.get_template("report.html.j2").render(_page(arms, doubts))


def _page(arms: tuple[ArmReport, ...], doubts: tuple[DoubtGroup, ...]) -> dict[str, Any]:
    header = arms[0].header
    scenario = header.scenario
    policies, trade = by_policy(arms), trade_of(arms)
    return {
        "header": header,
        "scenario": scenario,
        "valid": is_valid(arms, doubts),
        "slo": f"{slo_words(scenario)} within {scenario.slo.within:g} s",
        "answer": answer(arms),
        "arms": arms,
        "policies": policies,
        "missing": [letter for letter in scenario.policies if letter not in policies],
        "policy_words": {letter: _words_of(scenario.policies.get(letter)) for letter in policies},
        "whys": {letter: policy.why for letter, policy in scenario.policies.items() if policy.why},
        "trade": draw_trade(trade),
        "trade_words": [point.words() for point in trade.points],
        "deciding": deciding_rows(arms),
        "tables": compare(arms),
        "catalogue": CATALOGUE,
        "class_rows": _class_rows(arms),
        "figures": draw_figures(arms),
        "figure_columns": columns_of(len(policies)),
        "signal_words": SIGNAL_WORDS,
        "alert_rows": alert_rows(arms),
        "doubts": doubts,
        "capacity": _capacity(arms),
        "capacity_titles": [title for _, title, _ in CAPACITY_COLUMNS],
        "claims": claim_reports(arms),
        "environment": _environment(arms),
    }


def _words_of(policy: Any) -> str:
    return "" if policy is None else policy_words(policy)


def _class_rows(arms: tuple[ArmReport, ...]) -> list[tuple[str, str, str, list[tuple[str, bool]]]]:
    """Per arm, class and phase the few measures in which a class starves."""
    by_name = {measure.name: measure for measure in CATALOGUE}
    return [
        (
            arm.name,
            job_class,
            PHASE_TITLES[name],
            [
                (measured(phase.numbers[measure], by_name[measure].unit), by_name[measure].unit == "s")
                for measure in CLASS_MEASURES
            ],
        )
        for arm in arms
        for job_class, phases in arm.classes.items()
        for name, phase in phases.items()
    ]


def _capacity(arms: tuple[ArmReport, ...]) -> dict[str, Any] | None:
    """The runner's check before the load, as far as it holds what the page knows to show."""
    found = next((arm.capacity for arm in arms if arm.capacity is not None), None)
    if found is None:
        return None
    phases = [row for row in _list(found.get("phases")) if isinstance(row, dict)]
    rows = [
        (str(row.get("phase", "")), [measured(_number(row.get(key)), unit) for key, _, unit in CAPACITY_COLUMNS])
        for row in phases
    ]
    return {"rows": rows, "lines": [str(line) for line in _list(found.get("lines"))]}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _environment(arms: tuple[ArmReport, ...]) -> list[tuple[str, str]]:
    header = arms[0].header
    memory = _number(header.host.get("memory_bytes"))
    known = {"cores", "memory_bytes"}
    return [
        ("Run", header.run_id),
        ("Testbed", f"{header.runtime}: {header.runtime_why}"),
        ("Endpoint", f"{header.endpoint}{', a sandbox observation' if header.is_sandbox else ''}"),
        ("Speed", "as declared" if header.speed == 1 else f"{header.speed:g} x: durations divided, rates multiplied"),
        ("Arms side by side", str(header.arms_side_by_side)),
        ("Seed", str(header.seed)),
        *_schedules(arms),
        ("Scenario's SHA-256", header.scenario_sha256),
        ("Cores", str(header.host.get("cores", "not recorded"))),
        ("Memory", "not recorded" if memory is None else f"{memory / 1e9:.1f} GB"),
        *((f"Other work beside {', '.join(names)}", words) for words, names in _other_work(arms).items()),
        *((str(name), str(value)) for name, value in header.host.items() if name not in known),
        *((name, str(value)) for name, value in sorted(header.versions.items())),
    ]


def _other_work(arms: tuple[ArmReport, ...]) -> dict[str, list[str]]:
    """Arms that played side by side shared it."""
    said: dict[str, list[str]] = {}
    for arm in arms:
        said.setdefault(arm.host.words(), []).append(arm.name)
    return said


def _schedules(arms: tuple[ArmReport, ...]) -> list[tuple[str, str]]:
    """One line per schedule, with the arms that played it."""
    played: dict[str, list[str]] = {}
    for arm in arms:
        played.setdefault(arm.header.schedule_sha256 or "unknown", []).append(arm.name)
    return [(f"Schedule of {', '.join(names)}", sha256) for sha256, names in played.items()]
