"""Cline's lines, one trap a test. Shapes as its version 3.0.65."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from agent_wrap.events import Notice, TextDelta, ThinkingDelta, ToolProgress
from agent_wrap.testing import Replay
from agent_wrap_adapters.cline import Cline

from .commands import Case, commands
from .replays import play, texts, tools

run = partial(play, Cline)


def event(kind: str, **more: Any) -> Any:
    return {"ts": "t", "type": "agent_event", "event": {"type": kind, **more}}


def begin(number: int = 1) -> Any:
    return event("iteration_start", iteration=number)


def part(content: str, **more: Any) -> Any:
    return event("content_start", contentType=content, **more)


def whole(content: str, **more: Any) -> Any:
    return event("content_end", contentType=content, **more)


def used(tokens_in: int, cached: int = 0, out: int = 1) -> Any:
    figures = {"inputTokens": tokens_in, "cacheReadTokens": cached, "outputTokens": out}
    return event("usage", **figures, cost=0)


def started(tool_id: str = "t1", name: str = "run_commands") -> Any:
    return part("tool", toolCallId=tool_id, toolName=name, input={"commands": ["ls"]})


def ended(output: Any = None, tool_id: str = "t1", **more: Any) -> Any:
    about = {"toolCallId": tool_id, "toolName": "run_commands"}
    return whole("tool", **about, output=output, **more)


def hook(name: str, agent: str = "main", parent: str | None = None) -> Any:
    about = {"agentId": agent, "taskId": f"task-{agent}", "parentAgentId": parent}
    return {"ts": "t", "type": "hook_event", "hookEventName": name, **about}


def result(reason: str = "completed", text: str = "", **more: Any) -> Any:
    told = {"finishReason": reason, "iterations": 1, "text": text, **more}
    return {"ts": "t", "type": "run_result", "model": {"id": "m"}, **told}


class TestEnd:
    def test_good(self) -> None:
        replayed = run(hook("agent_start"), result())
        assert replayed.outcome.status == "success"
        assert replayed.story.session.model == "m"
        assert replayed.story.session.session_id == "task-main"

    @pytest.mark.parametrize(
        ("reason", "message"),
        [
            ("error", "Invalid API key"),
            ("aborted", "aborted"),  # its text is what the assistant said
            ("max_iterations", "max_iterations"),
            ("mistake_limit", "mistake_limit"),
        ],
    )
    def test_bad(self, reason: str, message: str) -> None:
        replayed = run(result(reason, "Invalid API key"))
        assert (replayed.outcome.status, replayed.outcome.message) == ("error", message)

    def test_aborted_after_the_result(self) -> None:
        aborted = {"type": "run_aborted", "reason": "local_abort"}
        replayed = run(result("aborted", "said"), aborted)
        assert replayed.outcome.message == "aborted: local_abort"

    def test_exit_0_without_a_result(self) -> None:
        """That is what SIGINT leaves behind: the stream stops."""
        replayed = run(begin(), started())
        assert (replayed.outcome.status, replayed.outcome.exit_code) == ("error", 1)
        assert [t["status"] for t in tools(replayed)] == ["running", "error"]

    def test_errors_are_notices(self) -> None:
        failed = event("error", error={"message": "500"}, recoverable=False)
        noticed = event("notice", message="compacting")
        replayed = run(failed, noticed, {"type": "error", "message": "x"})
        assert replayed.of_type(Notice) == [
            Notice(t) for t in ("500", "compacting", "x")
        ]


class TestWords:
    def test_starts_are_deltas(self) -> None:
        pieces = [part("text", text=t) for t in ("h", "i")]
        replayed = run(begin(), *pieces, whole("text", text="hi"), result())
        assert texts(replayed) == ["hi"]
        assert [d.text for d in replayed.of_type(TextDelta)] == ["h", "i"]

    def test_reasoning_ends_after_the_text_it_led_to(self) -> None:
        replayed = run(
            begin(),
            part("reasoning", reasoning="be"),
            part("reasoning", reasoning="cause"),
            whole("text", text="hi"),
            whole("reasoning", reasoning="because"),
            result(),
        )
        kinds = [e["type"] for e in replayed.entries]
        assert kinds == ["init", "prompt", "thinking", "message", "complete"]
        assert texts(replayed, "thinking") == ["because"]
        assert [d.text for d in replayed.of_type(ThinkingDelta)] == ["be", "cause"]

    def test_reasoning_without_deltas(self) -> None:
        replayed = run(begin(), whole("reasoning", reasoning="why"), result())
        assert (replayed.turns, texts(replayed, "thinking")) == (1, ["why"])

    def test_reasoning_before_a_tool(self) -> None:
        thought = part("reasoning", reasoning="why")
        replayed = run(begin(), thought, started(), ended(), result())
        kinds = [e["type"] for e in replayed.entries]
        assert kinds == ["init", "prompt", "thinking", "tool", "tool", "complete"]

    def test_iterations_are_turns(self) -> None:
        says = whole("text", text="hi")
        lines = [begin(1), says, started(), ended(), begin(2), says, begin(3)]
        replayed = run(*lines, result("error", "500", iterations=3))
        assert replayed.turns == 2  # the third failed

    def test_killed_while_it_spoke(self) -> None:
        pieces = [part("text", text=t) for t in ("half an ", "answer")]
        replayed = run(begin(), *pieces, signal=9)
        assert (replayed.turns, texts(replayed)) == (1, ["half an answer"])

    def test_aborted_while_it_spoke(self) -> None:
        replayed = run(begin(), part("text", text="half"), result("aborted"))
        assert (texts(replayed), replayed.outcome.status) == (["half"], "error")


class TestTools:
    @pytest.mark.parametrize(
        ("output", "more", "status", "text"),
        [
            ([{"result": "out", "success": True}], {}, "success", "out"),
            (
                [{"result": "[exit 3]\nout", "error": "exit 3", "success": False}],
                {},
                "error",
                "[exit 3]\nout",
            ),
            (
                [{"result": "", "error": "aborted", "success": False}],
                {},
                "error",
                "aborted",
            ),
            (
                [{"result": "a", "success": True}, {"result": "b", "success": False}],
                {},
                "error",
                "a\nb",
            ),
            ({"error": "bad"}, {"error": '{"error":"bad"}'}, "error", "bad"),
            (None, {"error": "bad"}, "error", "bad"),
            ({"result": "done", "success": True}, {}, "success", "done"),
            ("plain", {}, "success", "plain"),
            ([], {}, "success", ""),
        ],
    )
    def test_results(self, output: Any, more: Any, status: str, text: str) -> None:
        finished = tools(run(begin(), started(), ended(output, **more), result()))[1]
        assert finished["status"] == status
        assert text == finished.get("result", finished.get("error", ""))

    def test_progress(self) -> None:
        chunks = [
            event(
                "content_update",
                contentType="tool",
                toolCallId="t1",
                update={"stream": "stdout", "chunk": chunk},
            )
            for chunk in ("", "out")
        ]
        replayed = run(begin(), started(), *chunks, ended(), result())
        assert replayed.of_type(ToolProgress) == [ToolProgress("t1", "out")]


class TestUsage:
    def test_a_step_is_counted_once_and_the_total_wins(self) -> None:
        totals = {"inputTokens": 30, "outputTokens": 3, "cacheReadTokens": 10}
        lines = [begin(1), used(10, 4), begin(2), used(20, 6)]
        replayed = run(*lines, result(aggregateUsage=totals))
        tokens = replayed.tokens
        assert (tokens.input, tokens.cached, tokens.total_in) == (20, 10, 30)
        assert (tokens.output, tokens.cost) == (3, None)  # a cost of 0 is not known

    def test_killed_before_the_total(self) -> None:
        replayed = run(begin(1), used(10), begin(2), used(20), signal=9)
        assert replayed.tokens.total_in == 30

    def test_message_has_its_tokens(self) -> None:
        replayed = run(begin(), used(10, 4, 2), whole("text", text="hi"), result())
        assert replayed.entries[2]["tokens"] == {"in": 10, "out": 2}

    def test_totals_of_zero_do_not_win(self) -> None:
        nothing = {"inputTokens": 0, "outputTokens": 0}
        replayed = run(begin(), used(10), result("error", "x", aggregateUsage=nothing))
        assert replayed.tokens.total_in == 10


class TestSubagents:
    def run(self, *after: Any, end: str = "agent_end") -> Replay:
        figures = {"inputTokens": 10, "outputTokens": 1}
        finished = [hook(end, "child", "main")] if end else []
        return run(
            hook("agent_start"),
            begin(1),
            used(10),
            started("t1", "spawn_agent"),
            hook("agent_start", "child", "main"),
            begin(1),
            used(5),
            whole("text", text="child"),
            started("t2"),
            ended([{"result": "out", "success": True}], "t2"),
            *finished,
            ended({"text": "child"}, "t1"),
            *after,
            result(aggregateUsage=figures),
        )

    @pytest.mark.parametrize("end", ["agent_end", "agent_error", "agent_abort", ""])
    def test_words_are_not_the_main_assistants(self, end: str) -> None:
        """The hook at a failed sub-agent's end does not come at all."""
        replayed = self.run(whole("text", text="main"), end=end)
        assert (replayed.turns, texts(replayed)) == (1, ["main"])
        names = [t["name"] for t in tools(replayed)]
        assert set(names) == {"spawn_agent", "spawn_agent/run_commands"}
        assert tools(replayed)[-1]["result"] == "child"

    def test_tokens_are_in_though_the_total_leaves_them_out(self) -> None:
        assert self.run().tokens.total_in == 15


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (event("news"), "agent_event/news"),
        ({"type": "news"}, "news"),
        ({}, "(no type)"),
        ({"type": "agent_event"}, "agent_event/(no type)"),
    ],
)
def test_unknown_types(line: Any, name: str) -> None:
    assert run(line).unknown_types == {name: 1}


def test_known_and_silent() -> None:
    team = {"type": "team_event", "event": {"type": "team_message"}}
    media = whole("media", generated=1)
    replayed = run(team, media, event("done"), hook("prompt_submit"), result())
    assert (replayed.unknown_types, replayed.failures) == ({}, [])


class TestCommand:
    @commands(
        "command prompt expected asked",
        [
            (["cline", "do it"], None, ["cline", "--json", "do it"], "do it"),
            (["cline", "-m", "x", "--json", "do it"], None, None, "do it"),
            (
                ["npx", "cline", "-P", "p"],
                "do it",
                ["npx", "cline", "--json", "-P", "p", "--", "do it"],
                "do it",
            ),
            # One word alone is taken for a command.
            (["cline"], "do", ["cline", "--json", "--", "do "], "do"),
            (["cline"], None, None, None),
            (["cline", "auth", "-p", "x"], "do it", None, None),
            (["cline", "--acp"], "do it", None, None),
            (["cline", "-i", "do it"], None, None, None),
            (["cline", "--version"], None, None, None),
        ],
    )
    def test_prepare(self, case: Case) -> None:
        assert case.prepared(Cline) == case.expected

    def test_model(self) -> None:
        assert Cline.model_from(["cline", "-m", "x", "do it"]) == "x"
        assert Cline.model_from(["cline", "do it"]) == ""
