"""What every admission policy is: rules for a request, what it expects of it, and a way to learn from finished work."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from lab.contract.policy_spec import Mode
from lab.policies.decision import Decision, Forecast, decision_by
from lab.policies.rule import Rule, first_holding
from lab.policies.service_book import Samples, ServiceBook
from lab.policies.snapshot import AdmissionRequest, ServiceSample, Snapshot


@dataclass(frozen=True, slots=True)
class Policy(ABC):
    """An admission policy. It is a value: learning gives a new one.

    Every policy keeps a book of service times, so that every decision says what was expected; which of them decide by
    it is told by their rules.
    """

    book: ServiceBook = field(default_factory=ServiceBook, kw_only=True)

    @abstractmethod
    def rules(self, request: AdmissionRequest) -> tuple[Rule, ...]:
        """The rules for this request, in order; the first that holds decides, and none means admit."""

    def acts_as(self, mode: Mode, request: AdmissionRequest) -> Mode:  # noqa: ARG002 - a policy may be cold for a class
        """The mode this request is decided in where the policy runs in `mode`."""
        return mode

    def forecast(self, snapshot: Snapshot, request: AdmissionRequest) -> Forecast:
        """What is expected of the request on a stack like this."""
        expected = self.book.expected(request.job_class)
        return Forecast(request.deadline_s, expected.service_s, expected.sample_count, snapshot.work_ahead_s)

    def observe(self, sample: ServiceSample) -> Self:
        """The policy after a finished service."""
        return self.with_book(self.book.observing(sample))

    def informed(self, samples: Samples, waits_s: Sequence[float]) -> Self:
        """The policy that knows these services and queue waits, newest first, and no others."""
        return self.with_book(self.book.informed(samples, waits_s))

    def with_book(self, book: ServiceBook) -> Self:
        """The same policy with another book."""
        return replace(self, book=book)

    def decide(self, snapshot: Snapshot, request: AdmissionRequest) -> Decision:
        """What this policy, enforced, does with the request."""
        rule, mode = first_holding(self.rules(request), snapshot), self.acts_as("enforce", request)
        return decision_by(rule, snapshot, mode, self.forecast(snapshot, request))
