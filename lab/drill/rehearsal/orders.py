"""How a command asks the local bench's keeper, whose children the services are, to act on a process.

command --{"order": "inject", "fault": {...}} --> keeper.sock --> LocalStack
        <--{"error": null} -----------------
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lab.contract.fault_spec import ProcessFault
from lab.contract.flags import FlagError, fault_json, read_fault
from lab.drill.testbed import StackError

ANSWER_WITHIN_S = 30.0
Act = Callable[[ProcessFault], Awaitable[None]]


async def order(socket: Path, what: str, fault: ProcessFault) -> None:
    """Has the keeper `inject` or `revert` a fault.

    Raises:
        StackError: the keeper is gone, or could not.
    """
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            answer = await _exchange(socket, {"order": what, "fault": fault_json(fault)})
        error = json.loads(answer)["error"]
    except (OSError, ValueError, KeyError, TypeError):
        raise StackError("the bench's keeper does not answer; `shedlab down`, then `shedlab up`") from None
    if error:
        raise StackError(str(error))


async def _exchange(socket: Path, message: dict[str, Any]) -> bytes:
    reader, writer = await asyncio.open_unix_connection(socket)
    try:
        writer.write(json.dumps(message).encode() + b"\n")
        await writer.drain()
        return await reader.readline()
    finally:
        writer.close()


async def serve_orders(socket: Path, inject: Act, revert: Act) -> asyncio.Server:
    """Carries out orders until the server is closed, one at a time; the socket's folder is this user's alone."""
    acts, turn = {"inject": inject, "revert": revert}, asyncio.Lock()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            async with turn:
                error = await _carried_out(line, acts)
            writer.write(json.dumps({"error": error}).encode() + b"\n")
            await writer.drain()
        except OSError:
            # Whoever asked is gone.
            pass
        finally:
            writer.close()

    return await asyncio.start_unix_server(serve, socket)


async def _carried_out(line: bytes, acts: dict[str, Act]) -> str | None:
    try:
        asked = json.loads(line)
        fault = read_fault(asked["fault"])
        if not isinstance(fault, ProcessFault):
            return "only process faults are the keeper's"
        await acts[asked["order"]](fault)
    except KeyError as error:
        return f"the bench has no {error}"
    except (StackError, FlagError, ValueError, TypeError) as error:
        return str(error)
    return None
