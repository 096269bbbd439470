"""Looks at a live bench: what its services print, what the gate says, what really acts; goes on whatever dies."""

import contextlib
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from lab.contract.journal import parse_line
from lab.drill.rehearsal import RehearsalError
from lab.drill.rehearsal.bench import Bench, Tail
from lab.drill.rehearsal.faults import FaultRecord, load_faults
from lab.drill.rehearsal.forgetting import forget_strangers
from lab.drill.rehearsal.injection import acting, revert_overdue
from lab.drill.rehearsal.load import LOADGEN
from lab.drill.rehearsal.play import Play, last_play
from lab.drill.rehearsal.state import State
from lab.drill.rehearsal.window import PERCENTILE_SPAN_S, Rates, Window
from lab.drill.testbed import StackError
from lab.drill.toxics_client import ToxiproxyClient, ToxiproxyError

ANSWER_WITHIN_S = 1.0
# How often the bench is asked which services there are and which stand still.
SURVEY_EVERY_S = 2.0
AT_REST = {"slow_factor": 1.0, "failure_ratio": 0.0, "stall_ratio": 0.0, "classes": []}


@dataclass(frozen=True, slots=True)
class View:
    """One look. `signals` and `policy` are None where the gate does not give them; `troubles` says why."""

    at: float
    runtime: str
    rates: Rates
    play: Play | None
    load_runs: bool
    signals: dict[str, Any] | None
    policy: dict[str, Any] | None
    faults: tuple[FaultRecord, ...]
    acts: tuple[str, ...]
    troubles: tuple[str, ...]


@dataclass(slots=True)
class _Survey:
    """What is asked for now and then only."""

    until_s: float = 0.0
    load_runs: bool = False
    troubles: list[str] = field(default_factory=list)


class Watcher:
    """Follows one bench until closed."""

    def __init__(self, state: State, bench: Bench) -> None:
        """Nothing is followed yet."""
        self._state = state
        self._bench = bench
        self._window = Window()
        self._tails: dict[str, Tail] = {}
        self._load_events: deque[dict[str, Any]] = deque()
        self._survey = _Survey()
        self._read_at = time.time() - PERCENTILE_SPAN_S
        self._client = httpx.Client(timeout=ANSWER_WITHIN_S, trust_env=False)
        addresses = bench.addresses
        self._proxy = ToxiproxyClient(addresses.proxy_host, addresses.proxy_port, ANSWER_WITHIN_S)

    def look(self) -> View:
        """Everything as it is now."""
        troubles = self._end_overdue()
        self._make_survey()
        self._read_tails()
        now_at = time.time()
        signals, gate_troubles = self._ask_gate("/signals")
        policy, _ = self._ask_gate("/admin/policy")
        acts, act_troubles = self._what_acts()
        return View(
            at=now_at,
            runtime=self._bench.runtime,
            rates=self._window.rates(now_at),
            play=last_play(self._load_events),
            load_runs=self._survey.load_runs,
            signals=signals,
            policy=policy,
            faults=tuple(acting(load_faults(self._state, self._bench.runtime))),
            acts=tuple(acts),
            troubles=(*troubles, *self._survey.troubles, *gate_troubles, *act_troubles),
        )

    def wait_for_lines(self, within_s: float) -> None:
        """Returns when followers have brought what there is, for a look that comes only once."""
        self._make_survey()
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            self._read_tails()
            time.sleep(within_s / 10)

    def close(self) -> None:
        """Ends every follower."""
        for tail in self._tails.values():
            tail.close()
        self._tails.clear()
        self._client.close()

    def _end_overdue(self) -> list[str]:
        try:
            return revert_overdue(self._state, self._bench)
        except RehearsalError as error:
            return [str(error)]

    def _make_survey(self) -> None:
        if time.monotonic() < self._survey.until_s:
            return
        try:
            for source in self._bench.sources():
                self._follow(source)
            load_runs = self._bench.load_runs()
            troubles = [*forget_strangers(self._state, self._bench), *self._bench.not_running()]
        except (StackError, RehearsalError) as error:
            load_runs, troubles = False, [str(error)]
        self._survey = _Survey(time.monotonic() + SURVEY_EVERY_S, load_runs, troubles)

    def _follow(self, source: str) -> None:
        """Follows a service that is new, or was started again."""
        tail = self._tails.get(source)
        if tail is not None and not tail.ended:
            return
        if tail is not None:
            self._take(source, tail)
            tail.close()
        # How far a play is takes all its lines; the window takes the last seconds.
        since_at = 0.0 if source == LOADGEN else self._read_at - 1.0
        self._tails[source] = self._bench.tail(source, since_at)

    def _read_tails(self) -> None:
        for source, tail in self._tails.items():
            self._take(source, tail)
        self._read_at = max(self._read_at, time.time() - PERCENTILE_SPAN_S)

    def _take(self, source: str, tail: Tail) -> None:
        for line in tail.new_lines():
            event = parse_line(line)
            if event is None:
                continue
            # An event that lacks a field is another version's; it must not end the watch.
            with contextlib.suppress(KeyError, TypeError):
                self._window.observe(event)
            if source == LOADGEN:
                self._take_load(event)

    def _take_load(self, event: dict[str, Any]) -> None:
        if event["event"] == "schedule_start":
            self._load_events.clear()
        self._load_events.append(event)

    def _ask_gate(self, route: str) -> tuple[dict[str, Any] | None, list[str]]:
        try:
            answer = self._client.get(f"{self._bench.addresses.gate_url}{route}")
            told = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            return None, [f"the gate does not answer ({type(error).__name__})"]
        if answer.is_error or not isinstance(told, dict):
            reason = told.get("reason") if isinstance(told, dict) else None
            lost = "the gate has lost Redis" if reason == "queue_unreachable" else f"the gate says {answer.status_code}"
            return None, [lost]
        return told, []

    def _what_acts(self) -> tuple[list[str], list[str]]:
        """What Toxiproxy and the model themselves say, whoever made it."""
        acts, troubles = [], []
        try:
            for proxy in self._proxy.proxies().values():
                acts += [f"{toxic.name} on {proxy.name}" for toxic in proxy.toxics]
                acts += [] if proxy.enabled else [f"proxy {proxy.name} disabled"]
        except ToxiproxyError:
            troubles.append("Toxiproxy does not answer")
        try:
            told = self._client.get(f"{self._bench.addresses.model_url}/admin/config").json()
            acts += model_words(told)
        except (httpx.HTTPError, ValueError):
            troubles.append("the model does not answer")
        return acts, troubles


def model_words(told: dict[str, Any]) -> Sequence[str]:
    """How the model misbehaves, in words; nothing where it is at rest."""
    if told.get("at_rest", True):
        return ()
    changed = [f"{key} {told[key]}" for key, rest in AT_REST.items() if told.get(key, rest) != rest]
    return (f"model: {', '.join(changed) or 'not at rest'}",)
