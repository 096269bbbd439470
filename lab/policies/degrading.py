"""Degrade, the third answer: from an earlier threshold up to the policy's own, a job is admitted for less.

    shed     iff  the policy sheds
    degrade  iff  not, and the same policy with the earlier threshold would shed

Tokens cut to N shorten the declared work past the first token in proportion, as the lab's model spends it:
    work' = first + (work - first) * (N - 1) / (tokens - 1)      where the first token's time is declared
    work' = work * N / tokens                                    else
A fallback model does work' * work_ratio, its first token likewise.

Source: DRILLS.md section 3 (accept, shed or degrade); the arithmetic is ours, after lab.workload's token service.
"""

from dataclasses import dataclass, replace
from typing import Self

from lab.contract.messages import JobRequest
from lab.contract.policy_spec import Mode
from lab.policies.decision import Forecast
from lab.policies.policy import Policy
from lab.policies.rule import Rule
from lab.policies.service_book import ServiceBook
from lab.policies.snapshot import AdmissionRequest, Snapshot


@dataclass(frozen=True, slots=True)
class Degradation:
    """What a degraded job gets: at most so many tokens, another model, or both; None leaves either as it is."""

    max_output_tokens: int | None
    model: str | None
    work_ratio: float

    def lessens(self, max_output_tokens: int) -> bool:
        """Whether a job of so many tokens would get less than it asks for."""
        return self.model is not None or (
            self.max_output_tokens is not None and max_output_tokens > self.max_output_tokens
        )

    def applied(self, request: JobRequest) -> JobRequest:
        """The request for less: tokens, and the declared work with them."""
        tokens = min(request.max_output_tokens, self.max_output_tokens or request.max_output_tokens)
        ratio = 1.0 if self.model is None else self.work_ratio
        work_s = None if request.work_s is None else ratio * _work_s(request, request.work_s, tokens)
        first_s = None if request.first_token_s is None else ratio * request.first_token_s
        return request.model_copy(update={"max_output_tokens": tokens, "work_s": work_s, "first_token_s": first_s})


def _work_s(request: JobRequest, work_s: float, tokens: int) -> float:
    if tokens == request.max_output_tokens:
        return work_s
    if request.first_token_s is None:
        return work_s * tokens / request.max_output_tokens
    first_s = min(request.first_token_s, work_s)
    return first_s + (work_s - first_s) * (tokens - 1) / (request.max_output_tokens - 1)


@dataclass(frozen=True, slots=True)
class Degrading(Policy):
    """A policy, and the same policy with an earlier threshold, whose sheds become degradations."""

    shedding: Policy
    earlier: Policy
    degradation: Degradation

    @classmethod
    def of(cls, shedding: Policy, earlier: Policy, degradation: Degradation) -> Self:
        """Both, with one book."""
        return cls(shedding, earlier.with_book(shedding.book), degradation, book=shedding.book)

    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:
        """The policy's own rules, then the earlier ones for what would get less."""
        own = self.shedding.rules(request)
        if not self.degradation.lessens(request.max_output_tokens):
            return own
        return own + tuple(replace(rule, action="degrade", futile=False) for rule in self.earlier.rules(request))

    def acts_as(self, mode: Mode, request: AdmissionRequest) -> Mode:
        """As the policy itself."""
        return self.shedding.acts_as(mode, request)

    def forecast(self, snapshot: Snapshot, request: AdmissionRequest) -> Forecast:
        """As the policy itself: what the job as asked for would take."""
        return self.shedding.forecast(snapshot, request)

    def with_book(self, book: ServiceBook) -> Self:
        """Both policies with another book."""
        return replace(self, shedding=self.shedding.with_book(book), earlier=self.earlier.with_book(book), book=book)
