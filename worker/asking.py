"""A job as a question to the model: body and headers of one attempt. Pure; must not know a connection."""

import json
from typing import Final

from lab.contract.messages import Job
from lab.contract.names import (
    HEADER_ATTEMPT,
    HEADER_FIRST_TOKEN_US,
    HEADER_JOB_CLASS,
    HEADER_JOB_ID,
    HEADER_REQUEST_ID,
    HEADER_WORK_US,
)

MOST_PROMPT_WORDS: Final = 4096


def request_body(job: Job, model_name: str) -> bytes:
    """The chat completion that stands for a job: a prompt of as many words as it has input tokens, bounded.

    A degraded job's own model goes before `model_name`.
    """
    prompt = " ".join(["lab"] * min(job.input_tokens, MOST_PROMPT_WORDS))
    body = {
        "model": job.model or model_name,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": job.max_output_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    return json.dumps(body, separators=(",", ":")).encode()


def request_headers(job: Job, attempt: int, *, lab_headers: bool) -> dict[str, str]:
    """Who asks; for the lab's own model also what of, and the declared work where there is some."""
    headers = {HEADER_REQUEST_ID: job.request_id}
    if not lab_headers:
        return headers
    headers |= {HEADER_JOB_ID: job.job_id, HEADER_ATTEMPT: str(attempt), HEADER_JOB_CLASS: job.job_class}
    if job.work_s is not None:
        headers[HEADER_WORK_US] = str(round(job.work_s * 1e6))
    if job.first_token_s is not None:
        headers[HEADER_FIRST_TOKEN_US] = str(round(job.first_token_s * 1e6))
    return headers
