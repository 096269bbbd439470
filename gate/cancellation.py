"""A cancellation that got lost on the way, found again."""

import asyncio


def heed_cancellation() -> None:
    """Raises CancelledError where this task was cancelled and did not notice.

    On Python 3.11 `asyncio.wait_for`, under which the Redis client sends, can swallow a cancellation; no loop may live
    on it.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
