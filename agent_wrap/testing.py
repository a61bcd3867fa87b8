"""The adapter kit: replay a recorded stream, compare the dialog with a golden one.

A recording is a folder with `stdout.jsonl` (the agent's stdout), `meta.json` (at
least `exit_code`; `command` and `prompt` where they are known) and `dialog.jsonl`
(the golden dialog, that a person has read). Time stands still in a replay, so that
the same stream always gives the same bytes.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_wrap import validate
from agent_wrap.accounting import Tokens
from agent_wrap.adapter import Adapter
from agent_wrap.dialog import Dialog
from agent_wrap.encode import encode
from agent_wrap.entries import Entry
from agent_wrap.events import Event, RunFinished, SessionStarted
from agent_wrap.outcome import Ending, Outcome, decide
from agent_wrap.reader import Detection, Reader
from agent_wrap.story import Story

STREAM, META, GOLDEN = "stdout.jsonl", "meta.json", "dialog.jsonl"
CHUNKS = (1, 2, 7, 4096)
"""Sizes at which a stream is cut: an adapter must not notice."""

FIGURES = ("status", "exit", "turns", "tools", "in", "out")
"""What `expect` in `meta.json` may name."""

_NOW = 0.0


@dataclass(frozen=True)
class Replay:
    """What a recorded stream gives."""

    entries: list[Entry]
    outcome: Outcome
    events: list[Event]
    story: Story
    tokens: Tokens
    reported: Tokens | None
    turns: int
    counts: dict[str, int]
    unknown_types: dict[str, int]
    failures: list[str]
    adapter: Adapter | None

    @property
    def lines(self) -> bytes:
        """The dialog as it would be on disk."""
        return b"".join(map(encode, self.entries))

    @property
    def final(self) -> RunFinished | None:
        """The final event that counts."""
        return self.story.final

    def of_type(self, kind: type[Event]) -> list[Any]:
        """Give the events of one type, in order."""
        return [event for event in self.events if isinstance(event, kind)]


@dataclass(frozen=True)
class Recording:
    """A saved native stream, and how the process ended that printed it."""

    folder: str
    stream: bytes
    meta: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last two parts of its folder: `my-agent-1.0/tool_ok`."""
        return "/".join(self.folder.split(os.sep)[-2:])

    @property
    def command(self) -> list[str]:
        """The command that was recorded; empty when it is not known."""
        return [str(word) for word in self.meta.get("command", [])]

    @property
    def code(self) -> int | None:
        """The exit code, or None for a process that a signal killed."""
        return None if self._exit < 0 else self._exit

    @property
    def signal(self) -> int | None:
        """The signal that killed the process, or None."""
        return -self._exit if self._exit < 0 else None

    @property
    def golden(self) -> bytes | None:
        """The expected dialog, or None where there is none yet."""
        try:
            with open(os.path.join(self.folder, GOLDEN), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    @property
    def _exit(self) -> int:
        return int(self.meta.get("exit_code", 0))


def replay(
    stream: bytes,
    adapter: Adapter | None,
    *,
    code: int | None = 0,
    signal: int | None = None,
    chunk: int | None = None,
    prompt: str | None = None,
    task: str = "",
    cwd: str = "",
    model: str = "",
    agent: str = "",
    detection: Detection | None = None,
    strict: bool = False,
) -> Replay:
    """Read a stream as a run would, whole or in chunks, and end as the run would.

    Without an adapter, `detection` finds one by the first lines. What `init` names
    is taken from the stream where it is not given.
    """
    reader, story = Reader(adapter, detection), Story()
    dialog = Dialog(task=task, cwd=cwd, model=model, agent=agent, prompt=prompt)
    entries: list[Entry] = []
    events: list[Event] = []
    for event in _events(reader, stream, chunk):
        if isinstance(event, SessionStarted) and dialog.state == "NEW":
            dialog.cwd = dialog.cwd or event.cwd
        entries.extend(dialog.apply(event, _NOW))
        story.apply(event)
        events.append(event)
    promised = reader.adapter is not None and reader.adapter.promises_final_event
    outcome = decide(
        Ending(
            code=code,
            signal=signal,
            final=story.final,
            promised=promised,
            notice=story.notices[-1] if story.notices else "",
            unknown=tuple(reader.unknown_types) if strict else (),
        )
    )
    entries.extend(
        dialog.complete(
            outcome.status,
            duration_ms=0,
            now=_NOW,
            message=outcome.message,
            unfinished=outcome.unfinished,
        )
    )
    return Replay(
        entries=entries,
        outcome=outcome,
        events=events,
        story=story,
        tokens=dialog.account.tokens,
        reported=dialog.account.reported,
        turns=dialog.account.turns,
        counts=reader.counts,
        unknown_types=reader.unknown_types,
        failures=reader.failures,
        adapter=reader.adapter,
    )


def load(folder: str | os.PathLike[str]) -> Recording:
    """Read a recording; without `meta.json` the process is taken to have exited 0."""
    path = os.path.abspath(folder)
    with open(os.path.join(path, STREAM), "rb") as file:
        stream = file.read()
    try:
        with open(os.path.join(path, META), "rb") as file:
            meta = json.load(file)
    except FileNotFoundError:
        meta = {}
    return Recording(path, stream, meta if isinstance(meta, dict) else {})


def find_recordings(root: str | os.PathLike[str]) -> list[Recording]:
    """Give all recordings below a folder, sorted by path."""
    found = [path for path, _, names in os.walk(root) if STREAM in names]
    return [load(path) for path in sorted(found)]


def find_orphans(root: str | os.PathLike[str]) -> list[str]:
    """Give the golden dialogs below a folder that have no stream beside them."""
    return sorted(
        os.path.join(path, GOLDEN)
        for path, _, names in os.walk(root)
        if GOLDEN in names and STREAM not in names
    )


def replay_recording(
    recording: Recording,
    make: type[Adapter],
    *,
    agent: str = "",
    chunk: int | None = None,
) -> Replay:
    """Replay a recording: prompt and model are read from its command, as in a run."""
    command = recording.command
    prompt = recording.meta.get("prompt")
    if prompt is None and command:
        prompt = make.prepare(command, None).prompt
    return replay(
        recording.stream,
        make(),
        code=recording.code,
        signal=recording.signal,
        chunk=chunk,
        prompt=prompt,
        model=make.model_from(command) if command else "",
        agent="" if make.names_agent else agent,
    )


def replay_in_chunks(
    stream: bytes,
    make: Callable[[], Adapter],
    sizes: Sequence[int] = CHUNKS,
    **options: Any,
) -> dict[int, Replay]:
    """Replay a stream once for each size of chunk; `options` go to `replay`."""
    return {size: replay(stream, make(), chunk=size, **options) for size in sizes}


def compare(expected: bytes, actual: bytes, name: str = GOLDEN) -> str:
    """Give the difference of two dialogs for people; empty: they are the same."""
    if expected == actual:
        return ""
    before, after = (data.decode("utf-8", "replace") for data in (expected, actual))
    lines = difflib.unified_diff(
        before.split("\n"),
        after.split("\n"),
        f"golden {name}",
        "replayed",
        "",
        "",
        1,
        "",
    )
    return "\n".join(lines)


def check_golden(recording: Recording, lines: bytes, *, update: bool = False) -> None:
    """Compare a dialog with the recording's golden one, or write it anew.

    Raises AssertionError, with the difference.
    """
    if update:
        with open(os.path.join(recording.folder, GOLDEN), "wb") as file:
            file.write(lines)
        return
    golden = recording.golden
    if golden is None:
        raise AssertionError(f"{recording.name} has no {GOLDEN} yet: --update-golden")
    if difference := compare(golden, lines, recording.name):
        raise AssertionError(difference)


def _events(reader: Reader, stream: bytes, chunk: int | None) -> Iterator[Event]:
    yield from reader.start()
    for data in _cut(stream, chunk):
        yield from reader.feed(data)
    yield from reader.close()


def _cut(stream: bytes, chunk: int | None) -> Iterable[bytes]:
    if not chunk:
        return (stream,)
    return (stream[at : at + chunk] for at in range(0, len(stream), chunk))


def check_recording(
    recording: Recording,
    make: type[Adapter],
    *,
    agent: str = "",
    update: bool = False,
) -> list[str]:
    """Give all that is wrong with a recording as an adapter reads it, one line each.

    Whole and in chunks, every rule of the protocol, the golden dialog (written anew
    with `update`), and what `meta.json` may expect: `{"expect": {"status": "success",
    "turns": 2, "tools": 1, "in": 2100, "out": 41}}`.
    """
    try:
        whole = replay_recording(recording, make, agent=agent)
    except Exception as error:  # text that is no str, a count that is no number
        return [f"a fact that no dialog can take: {type(error).__name__}: {error}"]
    found = list(whole.failures)
    found += [
        f"unknown type {name!r}, {count} times: read it, or yield nothing for it"
        for name, count in whole.unknown_types.items()
    ]
    if whole.counts["unparsable"]:
        found.append(f"{whole.counts['unparsable']} lines could not be read")
    found += [f"the dialog: {breach}" for breach in validate.check(whole.lines)]
    for size in CHUNKS:
        cut = replay_recording(recording, make, agent=agent, chunk=size)
        if difference := compare(whole.lines, cut.lines, "read whole"):
            found.append(f"another dialog in chunks of {size} bytes:\n{difference}")
            break
    found += _unexpected(recording.meta.get("expect", {}), figures(whole))
    try:
        check_golden(recording, whole.lines, update=update)
    except AssertionError as error:
        found.append(str(error))
    return found


def _unexpected(expected: Any, are: dict[str, Any]) -> Iterator[str]:
    known = f"Known: {', '.join(FIGURES)}"
    if not isinstance(expected, dict):
        yield f"meta.json: expect is no object. {known}"
        return
    for name, value in expected.items():
        if name not in are:
            yield f"meta.json expects {name!r}, which is no figure. {known}"
        elif are[name] != value:
            yield f"{name} is {are[name]}, meta.json expects {value}"


def figures(replayed: Replay) -> dict[str, Any]:
    """Give what a recording can be checked by: its end, turns, tools, tokens."""
    starts = {e["tool_id"] for e in replayed.entries if e["type"] == "tool"}
    values = (
        replayed.outcome.status,
        replayed.outcome.exit_code,
        replayed.turns,
        len(starts),
        replayed.tokens.total_in,
        replayed.tokens.output,
    )
    return dict(zip(FIGURES, values, strict=True))
