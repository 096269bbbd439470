"""A look at a live bench as a table: a row per number, then what acts on it and what is wrong with it."""

import math
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table

from lab.drill.rehearsal.faults import FaultRecord, fault_words
from lab.drill.rehearsal.policies import policy_words
from lab.drill.rehearsal.watch import View

NOTHING = "-"


def view_table(view: View) -> Table:
    """The whole table."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(f"{view.runtime} bench", no_wrap=True)
    table.add_column("now")
    for name, value in view_rows(view):
        table.add_row(name, value, style="red" if name == "trouble" else "")
    return table


def view_rows(view: View) -> Iterator[tuple[str, str]]:
    """Its rows, as text."""
    rates = view.rates
    yield "load", _load(view)
    yield "offered", f"{rates.offered_per_s:.1f}/s"
    yield "admitted", f"{rates.admitted_per_s:.1f}/s"
    yield "shed", f"{rates.shed_per_s:.1f}/s"
    yield "refused", f"{rates.refused_per_s:.1f}/s"
    yield "done", f"{rates.done_per_s:.1f}/s"
    yield from _signals(view)
    yield "p95 first token", f"{_seconds(rates.p95_ttft_s)} over 30 s"
    yield "p95 turnaround", f"{_seconds(rates.p95_turnaround_s)} over 30 s"
    yield "workers live", str(rates.workers_live)
    yield "policy", policy_words(view.policy) if view.policy else NOTHING
    yield from _faults(view)
    for trouble in view.troubles:
        yield "trouble", trouble


def _load(view: View) -> str:
    play = view.play
    if play is None:
        return "none"
    counted = f"{play.sent_count} of {play.due_count} requests"
    if play.ended:
        return f"over, {counted}"
    return f"playing, {counted}" if view.load_runs else f"cut short, {counted}"


def _signals(view: View) -> Iterator[tuple[str, str]]:
    signals = view.signals
    yield "queue age", f"{signals['queue_age_s']:.2f} s" if signals else NOTHING
    yield "queue depth", str(signals["queue_depth"]) if signals else NOTHING
    yield "in flight", f"{signals['in_flight']} on {signals['slots']} slots" if signals else NOTHING
    yield "utilization", f"{100 * signals['utilization_ratio']:.0f} %" if signals else NOTHING


def _faults(view: View) -> Iterator[tuple[str, str]]:
    for record in view.faults:
        yield f"fault {record.name}", f"{fault_words(record)}; {_left(record, view.at)}"
    known = {record.name for record in view.faults}
    unknown = [act for act in view.acts if act.partition(" ")[0] not in known and not _explained(act, view)]
    if not view.faults and not unknown:
        yield "faults", "none"
    for act in unknown:
        yield "acts, unrecorded", act


def _explained(act: str, view: View) -> bool:
    """Whether a recorded fault is what makes the model misbehave, or a proxy disabled."""
    kinds = {record.fault["kind"] for record in view.faults}
    return (act.startswith("model:") and "model" in kinds) or (act.endswith(" disabled") and "proxy_down" in kinds)


def _left(record: FaultRecord, now_at: float) -> str:
    return "until it is cleared" if record.ends_at is None else f"{max(0.0, record.ends_at - now_at):.0f} s left"


def _seconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return "never" if math.isinf(value) else f"{value:.2f} s"
