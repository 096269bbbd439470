"""Lua scripts that stand beside this module, and the border at which Redis' failures become the gate's own error."""

from collections.abc import Iterable, Sequence
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError


class QueueUnreachableError(Exception):
    """Redis did not answer, or not as it should; whether it did what it was asked is not known."""


class Script:
    """A Lua script, sent once and then called by its hash."""

    def __init__(self, redis: Redis, file_name: str) -> None:
        """Reads the file; nothing is sent yet."""
        self._redis = redis
        self._text = files("gate").joinpath(file_name).read_text(encoding="utf-8")
        self._sha: str | None = None

    async def call(self, keys: Sequence[str], arguments: Iterable[Any]) -> Any:
        """What the script returns.

        Raises:
            QueueUnreachableError: no usable answer came.
        """
        try:
            return await self._call_loaded(keys, tuple(arguments))
        except (RedisError, OSError) as error:
            raise QueueUnreachableError(str(error)) from error

    async def _call_loaded(self, keys: Sequence[str], arguments: tuple[Any, ...]) -> Any:
        if self._sha is not None:
            try:
                return await self._redis.evalsha(self._sha, len(keys), *keys, *arguments)
            except NoScriptError:
                # The server was restarted or its cache was flushed; nothing was run.
                self._sha = None
        self._sha = await self._redis.script_load(self._text)
        return await self._redis.evalsha(self._sha, len(keys), *keys, *arguments)
