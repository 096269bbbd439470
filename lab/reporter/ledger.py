"""The book of one arm, job by job, over its witnesses: client, gate, workers, and the runner for what was left. Pure.

offered = admitted + shed + refused in error + unanswered; admitted = the sum of outcomes. Degraded jobs are admitted.
The gate's decision counts where there is one; every disagreement becomes a sentence that names the jobs.
"""

from dataclasses import dataclass

import pandas as pd

from lab.contract.names import OUTCOMES
from lab.reporter.read import Tables

HTTP_ACCEPTED = 202
HTTP_TOO_MANY_REQUESTS = 429
HTTP_FIRST_ERROR = 400
IDS_NAMED = 3
# Events, and outcomes, of the jobs that no worker has settled: left in the stream at the end, or gone with Redis.
ENDED_BY_RUNNER = ("unfinished", "lost")


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sums of one arm, in requests. `unsent` is within `unanswered`; `answer_lost` were decided, with no answer.

    `degraded_outcomes` are within `outcomes`. `projected_shed` were admitted where the policy, enforced, would have
    shed them: a projection, for an enforced policy would have met another queue. `hard_backoffs` counts, by the
    policy's reason, the sheds that told a client to stay away.
    """

    offered: int
    admitted: int
    shed: int
    degraded: int
    refused_in_error: int
    unanswered: int
    unsent: int
    answer_lost: int
    duplicates: int
    outcomes: dict[str, int]
    degraded_outcomes: dict[str, int]
    projected_shed: int
    hard_backoffs: dict[str, int]
    discrepancies: tuple[str, ...]

    @property
    def balanced(self) -> bool:
        """Whether all witnesses agree on every job."""
        return not self.discrepancies


@dataclass(frozen=True, slots=True)
class Book:
    """The sums, and the requests they are made of.

    Columns of `jobs`: request_id, job_id, job_class, due_at, sent_at, decided_at, fate, degraded, projected_shed,
    hard_backoff, reason, outcome, first_token_at, finished_at, slot_s, duplicate_slot_s.
    """

    ledger: Ledger
    jobs: pd.DataFrame


def balance(tables: Tables, schedule_count: int) -> Book:
    """Draws up the book. `schedule_count` is how many requests the schedule holds."""
    found: list[str] = []
    firsts, again = _split_duplicates(tables["outcome"])
    jobs = _decided(tables, found)
    _compare_with_schedule(jobs, schedule_count, found)
    _compare_client_with_gate(jobs, found)
    _compare_gate_with_client(tables["decision"], jobs, found)
    jobs = _settled(jobs, firsts, {name: tables[name] for name in ENDED_BY_RUNNER}, found)
    jobs["duplicate_slot_s"] = jobs["job_id"].map(again.groupby("job_id")["slot_s"].sum()).fillna(0.0)
    return Book(_sums(jobs, len(again), found), jobs)


def _note(found: list[str], ids: pd.Series, one: str, many: str) -> None:
    """Adds a sentence if there are any ids: `one` and `many` say what is wrong, for one and for several."""
    if ids.empty:
        return
    named = ", ".join(str(value) for value in ids.head(IDS_NAMED))
    rest = f" and {len(ids) - IDS_NAMED} more" if len(ids) > IDS_NAMED else ""
    found.append(f"{len(ids)} {one if len(ids) == 1 else many}: {named}{rest}")


def _once(table: pd.DataFrame, key: str, found: list[str], one: str, many: str) -> pd.DataFrame:
    repeated = table.duplicated(key)
    _note(found, table.loc[repeated, key].drop_duplicates(), one, many)
    return table[~repeated]


def _split_duplicates(outcomes: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    again = outcomes["duplicate"].astype(bool)
    return outcomes[~again], outcomes[again]


def _decided(tables: Tables, found: list[str]) -> pd.DataFrame:
    """Every client record once, beside what the gate said of it, and its fate."""
    requests = _once(
        tables["request"], "request_id", found, "request has two client records", "requests have two client records"
    )
    decisions = _once(
        tables["decision"], "request_id", found, "request was decided twice", "requests were decided twice"
    )
    said = decisions[["request_id", "job_id", "decision", "would", "reason", "hard_backoff", "at"]].rename(
        columns={"job_id": "gate_job_id", "reason": "gate_reason", "at": "decided_at"}
    )
    jobs = requests.merge(said, on="request_id", how="left")
    jobs["refusal"] = jobs["request_id"].isin(tables["refusal"]["request_id"])
    jobs["fate"] = _fates(jobs)
    jobs["degraded"] = jobs["decision"].eq("degrade")
    jobs["projected_shed"] = jobs["fate"].eq("admitted") & jobs["would"].eq("shed")
    jobs["hard_backoff"] = jobs["fate"].eq("shed") & jobs["hard_backoff"].eq(True)
    jobs["reason"] = jobs["gate_reason"].where(jobs["gate_reason"].notna(), jobs["reason"])
    return jobs


def _fates(jobs: pd.DataFrame) -> pd.Series:
    # Later lines win: what the gate decided, else what it refused, else what the client heard.
    status, decision = jobs["status"], jobs["decision"]
    fates = pd.Series("unanswered", index=jobs.index, dtype=object)
    fates[status.notna() | jobs["refusal"]] = "refused_in_error"
    fates[status.eq(HTTP_ACCEPTED) & ~jobs["refusal"]] = "admitted"
    fates[status.eq(HTTP_TOO_MANY_REQUESTS) & ~jobs["refusal"]] = "shed"
    fates[decision.isin(["admit", "degrade"])] = "admitted"
    fates[decision.eq("shed")] = "shed"
    return fates


def _compare_with_schedule(jobs: pd.DataFrame, schedule_count: int, found: list[str]) -> None:
    if len(jobs) != schedule_count:
        found.append(f"the schedule holds {schedule_count} requests and the client recorded {len(jobs)}")


def _compare_client_with_gate(jobs: pd.DataFrame, found: list[str]) -> None:
    status, decision, ids = jobs["status"], jobs["decision"], jobs["request_id"]
    admitted, shed = decision.isin(["admit", "degrade"]), decision.eq("shed")
    accepted, too_many = status.eq(HTTP_ACCEPTED), status.eq(HTTP_TOO_MANY_REQUESTS)
    refused = status.ge(HTTP_FIRST_ERROR) & ~too_many
    findings = (
        (accepted & ~admitted, "accepted (202) by its client's record and not admitted by the gate's"),
        (accepted & admitted & jobs["job_id"].ne(jobs["gate_job_id"]), "known to client and gate by different job ids"),
        (too_many & ~shed, "refused (429) by its client's record and not shed by the gate's"),
        (refused & (admitted | shed), "answered with an error by its client's record and decided by the gate's"),
        (refused & ~jobs["refusal"] & ~admitted & ~shed, "answered with an error that no line of the gate explains"),
        (status.notna() & ~accepted & ~too_many & ~refused, "answered with a status that the gate never gives"),
        (decision.notna() & jobs["refusal"], "both decided and refused in error by the gate"),
        (decision.notna() & jobs["sent_at"].isna(), "decided by the gate though its client never sent it"),
        (admitted & jobs["gate_job_id"].isna(), "admitted by the gate without a job id"),
        (decision.notna() & ~admitted & ~shed, "decided by the gate with a word that is no decision"),
    )
    for wrong, what in findings:
        _note(found, ids[wrong], f"request is {what}", f"requests are {what}")


def _compare_gate_with_client(decisions: pd.DataFrame, jobs: pd.DataFrame, found: list[str]) -> None:
    stray = decisions.loc[~decisions["request_id"].isin(jobs["request_id"]), "request_id"]
    _note(found, stray, "decision has no client record", "decisions have no client record")


def _settled(
    jobs: pd.DataFrame, firsts: pd.DataFrame, by_runner: dict[str, pd.DataFrame], found: list[str]
) -> pd.DataFrame:
    """The requests with the outcome of each admitted one; `by_runner` are those that no worker has settled."""
    admitted = jobs["fate"].eq("admitted")
    jobs["job_id"] = jobs["gate_job_id"].where(jobs["gate_job_id"].notna(), jobs["job_id"]).where(admitted)
    known = jobs.loc[admitted, "job_id"].dropna()
    _note(found, known[known.duplicated()], "job id was given twice", "job ids were given twice")
    firsts = _once(firsts, "job_id", found, "job has two first outcomes", "jobs have two first outcomes")
    for what, table in {"outcome": firsts, **{f"{name} line": table for name, table in by_runner.items()}}.items():
        stray = table.loc[~table["job_id"].isin(known), "job_id"]
        _note(found, stray, f"{what} is of a job never admitted", f"{what}s are of jobs never admitted")
    _note(
        found,
        firsts.loc[~firsts["outcome"].isin(set(OUTCOMES) - set(ENDED_BY_RUNNER)), "job_id"],
        "job has an outcome of no known name",
        "jobs have an outcome of no known name",
    )
    columns = ["job_id", "outcome", "first_token_at", "finished_at", "slot_s"]
    jobs = jobs.merge(firsts[columns], on="job_id", how="left")
    for name, table in by_runner.items():
        jobs.loc[jobs["job_id"].isin(table["job_id"]) & admitted & jobs["outcome"].isna(), "outcome"] = name
    untold = jobs.loc[admitted & jobs["outcome"].isna()]
    _note(
        found,
        untold["job_id"].fillna(untold["request_id"]),
        "admitted job has no outcome from a worker and was not reported unfinished",
        "admitted jobs have no outcome from a worker and were not reported unfinished",
    )
    return jobs


def _sums(jobs: pd.DataFrame, duplicates: int, found: list[str]) -> Ledger:
    fates = jobs["fate"].value_counts()
    backoffs = jobs.loc[jobs["hard_backoff"], "reason"].fillna("none given").value_counts().sort_index()
    return Ledger(
        offered=len(jobs),
        admitted=int(fates.get("admitted", 0)),
        shed=int(fates.get("shed", 0)),
        degraded=int(jobs["degraded"].sum()),
        refused_in_error=int(fates.get("refused_in_error", 0)),
        unanswered=int(fates.get("unanswered", 0)),
        unsent=int(jobs["sent_at"].isna().sum()),
        answer_lost=int((jobs["status"].isna() & (jobs["decision"].notna() | jobs["refusal"])).sum()),
        duplicates=duplicates,
        outcomes=_by_outcome(jobs),
        degraded_outcomes=_by_outcome(jobs[jobs["degraded"]]),
        projected_shed=int(jobs["projected_shed"].sum()),
        hard_backoffs={str(reason): int(count) for reason, count in backoffs.items()},
        discrepancies=tuple(found),
    )


def _by_outcome(jobs: pd.DataFrame) -> dict[str, int]:
    counts = jobs["outcome"].value_counts()
    return {name: int(counts.get(name, 0)) for name in OUTCOMES}
