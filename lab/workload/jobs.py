"""What each request asks for: class, tokens, service time, deadline; each drawn from a stream of its own."""

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from lab.contract.workload_spec import (
    ConstantService,
    ConstantTokens,
    JobClass,
    LognormalTokens,
    Service,
    Tokens,
    TokenService,
    UniformDeadline,
    UniformTokens,
)

Counts = NDArray[np.int64]
Seconds = NDArray[np.float64]
# Of a service time that no token count explains, the share before the first token, unless declared.
FIRST_TOKEN_SHARE = 0.25


def class_indices(classes: list[JobClass], count: int, generator: np.random.Generator) -> Counts:
    """Index of each request's class, drawn by weight."""
    weights = np.array([job_class.weight for job_class in classes])
    picked: Counts = generator.choice(len(classes), size=count, p=weights / weights.sum())
    return picked


def tokens_at(tokens: Tokens, quantiles: Seconds) -> Counts:
    """The distribution's values at `quantiles` (0 to 1), whole and at least 1.

    A log-normal with mean m and coefficient of variation c has sigma^2 = ln(1 + c^2) and mu = ln m - sigma^2 / 2.
    """
    match tokens:
        case ConstantTokens():
            values = np.full(len(quantiles), float(tokens.value))
        case UniformTokens():
            values = np.floor(tokens.low + quantiles * (tokens.high - tokens.low + 1))
        case LognormalTokens():
            sigma = math.sqrt(math.log1p(tokens.cv**2))
            mu = math.log(tokens.mean) - sigma**2 / 2
            values = np.minimum(np.exp(mu + sigma * standard_normal_quantiles(quantiles)), tokens.most)
    whole: Counts = np.maximum(np.rint(values), 1).astype(np.int64)
    return whole


def standard_normal_quantiles(quantiles: Seconds) -> Seconds:
    """The inverse of the normal distribution function, to 1e-9 relative.

    numpy has no inverse normal without SciPy, so the standard library's is used value by value.
    """
    inverse = NormalDist().inv_cdf
    clipped = np.clip(quantiles, 1e-12, 1 - 1e-12)
    return np.array([inverse(float(quantile)) for quantile in clipped])


def service_times(
    service: Service, tokens_in: Counts, tokens_out: Counts, quantiles: Seconds
) -> tuple[Seconds, Seconds]:
    """(whole service time, the part before the first token) of each request, in seconds.

    From tokens: first_token + per_input_token x tokens in, then per_output_token for each token after the first.
    `quantiles` (0 to 1) are the draws of a service time that is drawn; `tokens_*` are counts of each request.
    """
    if isinstance(service, TokenService):
        first: Seconds = service.first_token + service.per_input_token * tokens_in.astype(np.float64)
        return first + service.per_output_token * (tokens_out - 1), first
    if isinstance(service, ConstantService):
        whole = np.full(len(quantiles), service.time)
    else:
        whole = service.low + quantiles * (service.high - service.low)
    if service.first_token is None:
        return whole, FIRST_TOKEN_SHARE * whole
    return whole, np.minimum(service.first_token, whole)


def deadlines(deadline: float | UniformDeadline, quantiles: Seconds) -> Seconds:
    """Seconds from due time to deadline."""
    if isinstance(deadline, UniformDeadline):
        return deadline.low + quantiles * (deadline.high - deadline.low)
    return np.full(len(quantiles), float(deadline))


def longest_deadline_s(job_class: JobClass) -> float:
    """The latest deadline of a class, in seconds from the due time."""
    return job_class.deadline.high if isinstance(job_class.deadline, UniformDeadline) else job_class.deadline
