"""One burst of events for many readers, by the product or by a bare loop; run by path.

    fanout.py product|bare READERS EVENTS

Prints the port and the path, waits for the readers, tells them everything, and prints,
as JSON, when that began, and the CPU and memory that it took to serve the last reader.

The bare loop is what is left when nothing but the fan-out is: asyncio streams, each
event encoded once, one write a reader for each batch, no HTTP but a first line.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Iterator

import anyio
import orjson
from anyio.lowlevel import checkpoint

BATCH = 100
"""Events that come at once, as from one read of an agent's pipe."""

TEXT = "Some words of an answer, as a model streams them. "


def batches(events: int) -> Iterator[range]:
    """Give the events' numbers, batch by batch."""
    for start in range(0, events, BATCH):
        yield range(start, min(start + BATCH, events))


def report(began: float, cpu: float) -> None:
    """Say what it took; the peak of memory is in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    took = time.process_time() - cpu
    print(json.dumps({"began": began, "cpu": took, "peak": peak}), flush=True)


async def product(readers: int, events: int) -> None:
    """Serve a live session, as a run does."""
    from agent_wrap.events import TextDelta
    from agent_wrap.outcome import Outcome
    from agent_wrap.serve.listener import listen
    from agent_wrap.serve.live import Live

    listener = listen("127.0.0.1", 0, "")
    live = Live(
        listener,
        title="a burst",
        cwd="/",
        runtime=lambda: "burst",
        prompt="Hi",
        heartbeat=600.0,
        ask_timeout=600.0,
        announce="",
        clean=lambda line: line,
    )
    feed = live.feed(live.session.id)
    assert feed is not None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live.serve)
        tasks.start_soon(live.hub.run)
        print(listener.port, f"/api/sessions/{live.session.id}/events", flush=True)
        while len(feed.readers) < readers or feed.behind:
            await anyio.sleep(0.01)
        began, cpu = time.monotonic(), time.process_time()
        for batch in batches(events):
            for number in batch:
                live.watch(TextDelta(f"{TEXT}{number}", "m"), [])
            await checkpoint()
        live.finish(Outcome("success", 0, "completed"), "", "")
        while feed.readers:
            await anyio.sleep(0.01)
        report(began, cpu)
        tasks.cancel_scope.cancel()


async def bare(readers: int, events: int) -> None:
    """Write the same frames to plain connections."""
    writers: list[asyncio.StreamWriter] = []
    gone = 0

    async def connected(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal gone
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        writers.append(writer)
        await reader.read()
        gone += 1
        writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], "/", flush=True)
    while len(writers) < readers:
        await asyncio.sleep(0.01)
    began, cpu = time.monotonic(), time.process_time()
    frames = []
    for batch in batches(events):
        frames = [_frame(n, "text_delta", {"text": f"{TEXT}{n}"}) for n in batch]
        await _write(writers, b"".join(frames))
    await _write(writers, _frame(events, "turn_end", {"terminalReason": "completed"}))
    while gone < readers:
        await asyncio.sleep(0.01)
    report(began, cpu)
    server.close()


def _frame(number: int, kind: str, fields: dict[str, str]) -> bytes:
    data = orjson.dumps({"seq": number, "type": kind, **fields})
    name = f"0f8fad5b-d9cb-469f-a165-70867728950e-1760000000000-{number}"
    return f"id: {name}\nevent: {kind}\ndata: ".encode() + data + b"\n\n"


async def _write(writers: list[asyncio.StreamWriter], data: bytes) -> None:
    for writer in writers:
        writer.write(data)
    for writer in writers:
        await writer.drain()


if __name__ == "__main__":
    side = {"product": product, "bare": bare}[sys.argv[1]]
    anyio.run(side, int(sys.argv[2]), int(sys.argv[3]))
