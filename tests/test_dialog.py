"""The state machine: whatever events come, the entries follow the protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_wrap.dialog import Dialog
from agent_wrap.encode import encode
from agent_wrap.entries import Entry
from agent_wrap.errors import DialogError
from agent_wrap.events import (
    Event,
    Message,
    Notice,
    Prompt,
    Retracted,
    SessionStarted,
    TextDelta,
    Thinking,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    TurnStarted,
    Unknown,
    Unparsed,
    Usage,
)
from agent_wrap.validate import check

NOW = 1736937000.5


def opened(**known: Any) -> Dialog:
    """Give a dialog whose init and prompt are written already."""
    return Dialog(written=2, **known)


def apply(dialog: Dialog, *events: Event) -> list[Entry]:
    return [entry for event in events for entry in dialog.apply(event, NOW)]


def short(entries: Iterable[Entry]) -> list[str]:
    """Name entries as `type`, tools as `status id name`."""
    return [
        f"{e['status']} {e['tool_id']} {e['name']}"
        if e["type"] == "tool"
        else e["type"]
        for e in entries
    ]


# ---- the beginning ----------------------------------------------------------


def test_begin_writes_what_is_known() -> None:
    dialog = Dialog(task="T", cwd="/w", model="M", agent="A", prompt="P")
    init, prompt = dialog.begin(NOW)
    assert init["data"] == {"task": "T", "cwd": "/w", "model": "M", "agent": "A"}
    assert prompt["content"] == "P"
    assert (init["seq"], prompt["seq"], dialog.state) == (0, 1, "OPEN")


def test_init_waits_for_the_stream_to_name_the_rest() -> None:
    dialog = Dialog(task="T", cwd="/w", agent="A")
    assert apply(dialog, Prompt("from the stream"), Notice("hello")) == []
    init, prompt = apply(dialog, SessionStarted(model="M", agent="not mine"))
    assert (init["data"]["model"], init["data"]["agent"]) == ("M", "A")
    assert prompt["content"] == "from the stream"


def test_the_first_entry_that_cannot_wait_begins_the_dialog() -> None:
    dialog = Dialog(task="T")
    assert short(apply(dialog, SessionStarted(model="M"), Message("hi"))) == [
        "init",
        "prompt",
        "message",
    ]


def test_a_prompt_that_is_not_known_is_held_and_then_written_empty() -> None:
    dialog = Dialog(task="T")
    assert short(dialog.begin(NOW)) == ["init"]
    assert short(apply(dialog, SessionStarted(model="M"), TurnStarted("1"))) == []
    prompt, message = apply(dialog, Message("hi"))
    assert (prompt["content"], message["content"]) == ("", "hi")


def test_the_first_prompt_counts() -> None:
    dialog = Dialog(prompt="given")
    assert [e.get("content") for e in dialog.begin(NOW)] == [None, "given"]
    assert apply(dialog, Prompt("told"), Prompt("told again")) == []
    late = Dialog()
    late.begin(NOW)
    assert short(apply(late, Prompt("told"), Prompt("told again"))) == ["prompt"]


@pytest.mark.parametrize(
    ("written", "kinds"), [(1, ["prompt", "message"]), (2, ["message"])]
)
def test_it_goes_on_where_others_have_written(written: int, kinds: list[str]) -> None:
    dialog = Dialog(prompt="P", written=written)
    entries = apply(dialog, Message("hi"))
    assert short(entries) == kinds
    assert [entry["seq"] for entry in entries] == list(range(written, 3))


# ---- messages ---------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_text_without_text_is_no_entry(text: str) -> None:
    assert apply(opened(), Message(text), Thinking(text)) == []


def test_text_is_kept_as_it_is_but_for_what_readers_refuse() -> None:
    message, thinking = apply(opened(), Message(" a\0\n"), Thinking("\ud800 b"))
    assert message["content"] == " a\ufffd\n"
    assert thinking["content"] == "\ufffd b"


@pytest.mark.parametrize(
    ("events", "tokens"),
    [
        ([Usage(input=5, cached=2, output=3, message_id="m")], {"in": 7, "out": 3}),
        ([Usage(input=5, output=3, message_id="m", final=False)], None),
        ([Usage(input=5, output=3, message_id="other")], None),
        ([Usage(input=5, output=3, scope="total")], None),
        ([], None),
    ],
)
def test_tokens_are_written_when_they_are_final(
    events: list[Event], tokens: dict[str, int] | None
) -> None:
    entries = apply(opened(), *events, Message("hi", "m"), Message("more", "m"))
    assert [entry.get("tokens") for entry in entries] == [tokens, None]


# ---- tools ------------------------------------------------------------------


def test_tools_in_flight_at_once_find_their_results() -> None:
    dialog = opened()
    entries = apply(
        dialog,
        ToolStarted("a", "bash", {"x": 1}),
        ToolStarted("b", "read"),
        ToolProgress("a", "..."),
        ToolFinished("b", "text"),
        ToolFinished("a", "bad", ok=False),
    )
    assert short(entries) == [
        "running a bash",
        "running b read",
        "success b read",
        "error a bash",
    ]
    assert entries[0]["args"] == {"x": 1}
    assert (entries[2]["result"], entries[3]["error"]) == ("text", "bad")
    assert (dialog.tools_started, dialog.tools_ok, dialog.tools_failed) == (2, 1, 1)
    assert not dialog.tools_open > 0


def test_a_repeated_id_gets_a_suffix_and_its_result_follows_it() -> None:
    start, end = ToolStarted("a", "bash"), ToolFinished("a", "done")
    entries = apply(opened(), start, end, start, start, end, end)
    assert short(entries) == [
        "running a bash",
        "success a bash",
        "running a#2 bash",
        "running a#3 bash",
        "success a#2 bash",
        "success a#3 bash",
    ]


def test_a_suffix_that_is_taken_is_skipped() -> None:
    starts = [ToolStarted(id, "x") for id in ("a#2", "a", "a")]
    ids = [entry["tool_id"] for entry in apply(opened(), *starts)]
    assert ids == ["a#2", "a", "a#3"]


def test_a_missing_id_or_name_is_supplied() -> None:
    entries = apply(opened(), ToolStarted("", ""), ToolStarted("", "x"))
    assert short(entries) == ["running tool-1 tool", "running tool-2 x"]


def test_a_result_without_a_start_is_no_entry() -> None:
    dialog = opened()
    assert apply(dialog, ToolFinished("a", "done")) == []
    apply(dialog, ToolStarted("a", "x"), ToolFinished("a", "done"))
    assert apply(dialog, ToolFinished("a", "again")) == []
    assert dialog.tools_ok == 1


def test_the_tools_of_a_subagent_are_named_after_its_parents() -> None:
    entries = apply(
        opened(),
        ToolStarted("p", "Task"),
        ToolStarted("c", "Bash", parent="p"),
        ToolStarted("g", "Read", parent="c"),
        ToolStarted("o", "Bash", parent="never seen"),
        ToolFinished("g", ""),
    )
    assert [entry["name"] for entry in entries] == [
        "Task",
        "Task/Bash",
        "Task/Bash/Read",
        "Bash",
        "Task/Bash/Read",
    ]


def test_deep_arguments_are_cut_to_a_note() -> None:
    deep: Any = "core"
    for _ in range(500):
        deep = [deep]
    (entry,) = apply(opened(), ToolStarted("a", "x", {"deep": deep}))
    assert "nested too deep" in json.dumps(entry)


# ---- the end ----------------------------------------------------------------


def test_complete_closes_what_is_open_first() -> None:
    dialog = opened()
    apply(dialog, ToolStarted("a", "bash"), ToolStarted("b", "read"))
    assert [tool.id for tool in dialog.open_tools] == ["a", "b"]
    entries = dialog.complete("timeout", duration_ms=5, now=NOW, unfinished="too late")
    assert short(entries) == ["error a bash", "error b read", "complete"]
    assert [entry.get("error") for entry in entries] == ["too late", "too late", None]
    assert (dialog.tools_closed, dialog.tools_failed) == (2, 0)
    assert not dialog.tools_open > 0


def test_complete_of_a_dialog_that_never_began_is_a_whole_dialog() -> None:
    entries = Dialog().complete("error", duration_ms=0, now=NOW, message="no\0")
    assert short(entries) == ["init", "prompt", "complete"]
    assert entries[-1]["message"] == "no\ufffd"


def test_complete_carries_turns_and_totals() -> None:
    dialog = opened()
    apply(
        dialog,
        TurnStarted("1"),
        Usage(input=10, cached=5, output=2, message_id="1"),
        TurnStarted("2"),
        Retracted(("2",)),
    )
    (last,) = dialog.complete("success", duration_ms=7, now=NOW)
    assert (last["turns"], last["duration_ms"]) == (1, 7)
    assert last["total_tokens"] == {"in": 15, "out": 2}


def test_nothing_comes_after_complete() -> None:
    dialog = opened()
    dialog.complete("success", duration_ms=0, now=NOW)
    with pytest.raises(DialogError) as again:
        dialog.complete("error", duration_ms=0, now=NOW)
    assert again.value.state == "COMPLETE"
    with pytest.raises(DialogError):
        apply(dialog, Message("late"))
    with pytest.raises(DialogError):
        dialog.begin(NOW)


# ---- any sequence -----------------------------------------------------------

TEXT = st.sampled_from(["", " ", "text", "é\u2028", "a\0b", "\ud800", "x" * 300])
IDS = st.sampled_from(["", "a", "b", "a#2", "\ud800", "\0"])
ARGS = st.none() | st.dictionaries(TEXT, TEXT | st.floats() | st.integers(), max_size=2)
COUNTS = st.integers(0, 2**62)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(SessionStarted, TEXT, TEXT, TEXT, TEXT, TEXT),
    st.builds(Prompt, TEXT),
    st.builds(TurnStarted, IDS),
    st.builds(Message, TEXT, IDS),
    st.builds(Thinking, TEXT, IDS),
    st.builds(TextDelta, TEXT, IDS),
    st.builds(ToolStarted, IDS, TEXT, ARGS, IDS),
    st.builds(ToolFinished, IDS, TEXT, st.booleans()),
    st.builds(
        Usage,
        input=COUNTS,
        output=COUNTS,
        message_id=IDS,
        scope=st.sampled_from(["message", "total"]),
        final=st.booleans(),
    ),
    st.builds(Retracted, st.tuples(IDS)),
    st.builds(Notice, TEXT),
    st.builds(Unknown, TEXT),
    st.builds(Unparsed, st.binary(), TEXT),
)


@given(
    known=st.fixed_dictionaries(
        {"task": TEXT, "cwd": TEXT, "model": TEXT, "agent": TEXT},
        optional={"prompt": st.none() | TEXT},
    ),
    events=st.lists(st.tuples(EVENTS, st.floats(0, 4e9)), max_size=40),
    status=st.sampled_from(["success", "error", "timeout"]),
    message=TEXT,
)
def test_any_sequence_of_events_gives_a_dialog_without_a_breach(
    known: dict[str, Any],
    events: list[tuple[Event, float]],
    status: str,
    message: str,
) -> None:
    dialog = Dialog(**known)
    entries = [entry for event, now in events for entry in dialog.apply(event, now)]
    entries += dialog.complete(status, duration_ms=1, now=0.0, message=message)
    assert check(b"".join(map(encode, entries))) == []


def test_events_without_an_entry_are_let_pass() -> None:
    with_entry = {Message, Thinking, ToolStarted, ToolFinished, Prompt, SessionStarted}
    assert with_entry < set(get_args(Event))
    assert apply(opened(), Notice("n"), Unknown("u"), Unparsed(b"l", "r")) == []
