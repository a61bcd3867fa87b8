"""What real agents said, over a real socket: all of it once, ends as they were."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_wrap import registry
from agent_wrap.events import Message, Notice, TextDelta, ToolStarted, Usage
from agent_wrap.serve.session import Session
from agent_wrap.testing import Recording, Replay, find_recordings, load, replay

from .client import Parser, Stream
from .served import Served, serve

RECORDINGS = Path(__file__).parent.parent / "recordings"
NOW = 1_760_000_000_000


@pytest.fixture
def served() -> Iterator[Served]:
    with serve() as made:
        yield made


def recording(name: str) -> Recording:
    return load(RECORDINGS / name)


def adapter_of(name: str) -> Any:
    """Give the adapter that a folder of recordings is named after."""
    known = registry.known()
    found = [each for each in known if name.startswith(f"{each}-")]
    return known[max(found, key=len)].load()


def play(served: Served, stream: bytes, name: str, code: int = 0) -> Stream:
    """Let a reader see a recorded stream; give what it saw."""
    replayed = replay(stream, adapter_of(name)(), code=code)
    word = replayed.final.reason if replayed.final else ""
    with served.open() as reader:
        reader.until_kind("snapshot")
        served.tell(*replayed.events)
        served.finish(replayed.outcome, replayed.outcome.message, word)
        reader.until_kind("turn_end")
    assert reader.kinds.count("turn_end") == 1
    return reader


def said(stream: Stream) -> str:
    return "".join(e["text"] for e in stream.events if e["type"] == "text_delta")


def of(stream: Stream, kind: str) -> list[dict[str, Any]]:
    return [event for event in stream.events if event["type"] == kind]


def lines(*events: Any) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def whole_text(name: str) -> list[str]:
    found = recording(name)
    replayed = replay(found.stream, adapter_of(name)(), code=found.code)
    return [e["content"] for e in replayed.entries if e["type"] == "message"]


@pytest.mark.parametrize("scenario", ["partial", "text", "tool_ok", "subagent"])
def test_each_text_once(served: Served, scenario: str) -> None:
    """With partial messages and without; of sub-agents nothing."""
    name = f"claude-code-2.1.332/{scenario}"
    stream = play(served, recording(name).stream, name)
    whole = "".join(whole_text(name))
    assert "".join(said(stream).split()) == "".join(whole.split())


def test_a_failed_tool_is_an_error(served: Served) -> None:
    name = "claude-code-2.1.332/tool_fail"
    stream = play(served, recording(name).stream, name)
    assert [e["status"] for e in of(stream, "tool_result")] == ["error"]


def test_arguments_come_once_and_whole(served: Served) -> None:
    name = "claude-code-2.1.332/partial"
    stream = play(served, recording(name).stream, name)
    calls = of(stream, "tool_call")
    assert len({call["toolCallId"] for call in calls}) == len(calls) > 0
    assert all(isinstance(json.loads(call["input"]), dict) for call in calls)


STARTED = {"type": "thread.started", "thread_id": "th"}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}
ANSWER = {"id": "item_0", "type": "agent_message", "text": "Hello"}
FAULT = {"id": "item_1", "type": "error", "message": "no luck"}
SAID = {"type": "item.completed", "item": ANSWER}


def test_an_error_on_the_way_is_no_failure(served: Served) -> None:
    retry = {"type": "error", "message": "Reconnecting... 1/5"}
    stream = play(served, lines(STARTED, retry, SAID, DONE), "codex-0.171")
    assert of(stream, "turn_end")[0]["terminalReason"] == "completed"
    assert of(stream, "error") == []
    assert [e["message"] for e in of(stream, "system_status")] == [retry["message"]]
    with served.open() as cold:
        shown = cold.until_kind("snapshot").frames[0].data["status"]
    assert (shown["lifecycle"], shown["lastError"]) == ("idle", None)


def test_an_error_that_is_told_twice_is_one(served: Served) -> None:
    failed = {"type": "turn.failed", "error": {"message": "no luck"}}
    fault = {"type": "item.completed", "item": FAULT}
    stream = play(served, lines(STARTED, fault, failed), "codex-0.171", code=1)
    assert [e["message"] for e in of(stream, "error")] == ["no luck"]
    assert of(stream, "turn_end")[0]["terminalReason"] == "error"


def test_a_stream_that_stops_did_not_complete(served: Served) -> None:
    stream = play(served, lines(STARTED, SAID), "codex-0.171")
    assert of(stream, "turn_end")[0]["terminalReason"] == "error"
    assert of(stream, "error")[0]["code"] == "no_final_event"


def test_an_unknown_type_stops_nothing(served: Served) -> None:
    new = {"type": "brand.new", "text": "?"}
    stream = play(served, lines(STARTED, new, SAID, DONE), "codex-0.171")
    assert said(stream) == "Hello"
    assert of(stream, "turn_end")[0]["terminalReason"] == "completed"


def test_what_comes_after_the_end(served: Served) -> None:
    """Figures are state; a text is a turn of its own, begun by nobody."""
    served.tell(Message("one"))
    served.finish()
    with served.open() as stream:
        stream.until_kind("snapshot")
        served.tell(Usage(input=5, output=1, message_id="m"))
        stream.until_kind("status_change")
        served.tell(TextDelta("two", "n"))
        stream.until_kind("text_delta")
    assert stream.kinds[1:] == ["status_change", "turn_start", "text_delta"]
    assert "userMessage" not in stream.events[1]


def test_a_notice_and_a_tool_before_the_first_text(served: Served) -> None:
    with served.open() as stream:
        stream.until_kind("snapshot")
        served.tell(Notice("warming up"), ToolStarted("t", "Bash"))
        stream.until_kind("tool_call")
    assert stream.kinds[1:] == ["turn_start", "system_status", "tool_call"]


def all_recordings() -> list[str]:
    names = (each.name for each in find_recordings(RECORDINGS))
    return sorted(name for name in names if not name.startswith("acp-"))


@pytest.mark.parametrize("name", all_recordings())
def test_every_recording_makes_whole_frames(name: str) -> None:
    """Checked by the strict parser: shapes, numbers, one end."""
    found = recording(name)
    make: Callable[[], Any] = adapter_of(name)
    replayed: Replay = replay(found.stream, make(), code=found.code)
    session = Session("0f8fad5b-d9cb-469f-a165-70867728950e", 1)
    for event in replayed.events:
        session.apply(event, NOW)
    outcome = replayed.outcome
    session.end_turn(outcome.reason, outcome.message, NOW)
    parser = Parser(0)
    for frame in session.log.after(0, 1 << 30):
        parser.feed(frame)
    assert [f.event for f in parser.frames].count("turn_end") == 1
    called = [f.data["toolCallId"] for f in parser.frames if f.event == "tool_call"]
    closed = [f.data["toolCallId"] for f in parser.frames if f.event == "tool_result"]
    assert sorted(called) == sorted(closed)
    cold = Parser()
    cold.feed(session.snapshot(NOW))
    assert cold.frames[0].data["inProgressTurn"] is None
