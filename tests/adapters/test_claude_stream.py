"""Claude Code's stream, one trap a test. Shapes as its versions 2.1.197 and 2.1.332."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.events import (
    ApprovalAsked,
    HookUpdated,
    InteractionResolved,
    MemoryRecalled,
    Message,
    Notice,
    Prompt,
    RunFinished,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    ThinkingDelta,
    TodoItem,
    TodoUpdated,
    Usage,
)
from agent_wrap.testing import replay
from agent_wrap_adapters.claude_code import ClaudeCode

from .claude_lines import (
    OK,
    answer,
    last,
    result_of,
    run,
    system,
    text,
    tools,
    usage,
    use,
    used,
)
from .replays import texts


class TestUsage:
    def test_blocks_of_one_answer_count_once(self) -> None:
        figures: dict[str, Any] = {"usage": usage(100, 1)}
        ended = run(
            answer("m1", {"type": "thinking", "thinking": "hm"}, **figures),
            answer("m1", text("I look"), **figures),
            answer("m1", use("t1"), usage=usage(100, 50)),
            result_of("t1"),
            answer("m2", text("done"), usage=usage(120, 30)),
        )
        assert ended.turns == 2
        assert (ended.tokens.total_in, ended.tokens.output) == (220, 80)

    def test_output_of_a_message_is_a_placeholder(self) -> None:
        ended = run(answer("m1", text("hi"), usage=usage(100, 1)), OK)
        assert ended.of_type(Usage)[0].final is False
        assert "tokens" not in ended.entries[2]

    def test_partial_messages_give_the_true_output(self) -> None:
        ended = run(
            part("message_start", message={"id": "m1", "usage": usage(100, 1, 7)}),
            answer("m1", text("hi"), usage=usage(100, 1, 7)),
            part("message_delta", usage={"input_tokens": None, "output_tokens": 42}),
            answer("m1", use("t1"), usage=usage(100, 1, 7)),
        )
        found = ended.of_type(Usage)
        assert [u.final for u in found] == [False, True]
        assert (ended.tokens.total_in, ended.tokens.output) == (107, 42)

    def test_deltas_are_added_up_over_results(self) -> None:
        # resumed: modelUsage contains the earlier session, the deltas do not
        first = {
            "model_usage_since_last_result": used(10, 1),
            "modelUsage": used(99, 9),
        }
        second = {"model_usage_since_last_result": used(20, 2)}
        nothing_new: dict[str, Any] = {"model_usage_since_last_result": {}}
        ended = run(OK | first, OK | second, OK | nothing_new)
        assert (ended.tokens.total_in, ended.tokens.output) == (30, 3)
        assert ended.tokens.cost == 1.0

    def test_model_usage_is_cumulative(self) -> None:
        cost = {"total_cost_usd": 0.7}
        ended = run(
            OK | {"modelUsage": used(10, 1), "usage": usage(10, 1)},
            OK | {"modelUsage": used(30, 3), "usage": usage(20, 2)} | cost,
        )
        assert (ended.tokens.total_in, ended.tokens.output) == (30, 3)
        assert ended.tokens.cost == 0.7

    def test_usage_of_results_is_summed_without_models(self) -> None:
        ended = run(OK | {"usage": usage(10, 1)}, OK | {"usage": usage(20, 2, 5, 6)})
        assert (ended.tokens.total_in, ended.tokens.output) == (41, 3)

    def test_zero_usage_beside_model_usage(self) -> None:
        # a run over its budget: usage 0/0 though a call was made
        ended = run(OK | {"usage": usage(0, 0), "modelUsage": used(1000, 100)})
        assert (ended.tokens.total_in, ended.tokens.output) == (1000, 100)

    def test_all_zero_leaves_the_sum_of_messages(self) -> None:
        ended = run(
            answer("m1", text("cut"), usage=usage(1000, 1)),
            OK | {"usage": usage(0, 0), "modelUsage": {}},
        )
        assert (ended.tokens.total_in, ended.tokens.output) == (1000, 1)

    def test_infinite_figures_count_as_zero(self) -> None:
        line = b'{"type":"result","subtype":"success","usage":{"input_tokens":1e999}}\n'
        assert replay(line, ClaudeCode()).outcome.status == "success"


class TestEnd:
    def test_is_error_stands_above_success(self) -> None:
        ended = run(OK | {"is_error": True, "result": "API Error: 429 limit"}, code=1)
        assert ended.outcome.status == "error"
        assert last(ended)["message"] == "API Error: 429 limit"

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"errors": ["Reached maximum number of turns (3)"]}, "Reached maximum"),
            ({"errors": []}, "error_max_turns: max_turns"),
            ({"errors": [""], "result": "why"}, "error_max_turns: why"),
            ({"errors": ["[ede_diagnostic] x"]}, "error_max_turns: max_turns"),
            (
                {"result": "no key", "api_error_status": 401},
                "error_max_turns: no key (API status 401)",
            ),
            (
                {"result": "status 401", "api_error_status": 401},
                "error_max_turns: status 401",
            ),
            ({"errors": "not a list"}, "error_max_turns: max_turns"),
        ],
    )
    def test_message_of_a_failure(self, fields: dict[str, Any], message: str) -> None:
        failed = {"type": "result", "subtype": "error_max_turns", "is_error": True}
        ended = run(failed | {"terminal_reason": "max_turns"} | fields, code=1)
        assert last(ended)["message"].startswith(message)
        assert ended.final is not None
        assert ended.final.reason == "max_turns"

    def test_synthetic_text_is_no_message(self) -> None:
        said = answer("uuid", text("You have hit your limit"), model="<synthetic>")
        ended = run(said, OK | {"is_error": True})
        assert texts(ended) == []
        assert ended.turns == 0
        assert ended.of_type(Notice) == [Notice("You have hit your limit")]
        assert last(ended)["message"] == "You have hit your limit"

    def test_interruption_is_the_cause(self) -> None:
        mark = {"content": [text("[Request interrupted by user]")]}
        failed = {"type": "result", "subtype": "error_during_execution"}
        ended = run({"type": "user", "message": mark}, failed | {"is_error": True})
        assert last(ended)["message"] == "[Request interrupted by user]"

    def test_no_result_is_an_error(self) -> None:
        ended = run(system("init"), answer("m1", text("hi")))
        assert (ended.outcome.status, ended.outcome.exit_code) == ("error", 1)

    def test_woken_up_after_a_result(self) -> None:
        ended = run(system("init"), OK, system("init"), answer("m1", text("more")))
        assert ended.outcome.status == "error"

    def test_json_output_is_one_array(self) -> None:
        ended = run([system("init", model="m"), answer("m1", text("hi")), OK])
        assert texts(ended) == ["hi"]
        assert ended.outcome.status == "success"


class TestBlocks:
    def test_subagent_is_not_the_main_conversation(self) -> None:
        ended = run(
            answer("m1", use("t1", "Agent", prompt="look")),
            answer("n1", text("report"), parent="t1", usage=usage(500, 50)),
            answer("n2", {"type": "thinking", "thinking": "hm"}, parent="t1"),
            answer("n3", use("t2"), parent="t1"),
            result_of("t2", parent_tool_use_id="t1"),
            result_of("t1", [text("found"), text("it")]),
            answer("m2", text("answer")),
            OK,
        )
        assert texts(ended) == ["answer"]
        assert ended.turns == 2
        assert ended.tokens.total_in == 0
        assert tools(ended)[1] == ("t2", "Agent/Bash", "running")
        assert ended.entries[5]["result"] == "found\nit"

    @pytest.mark.parametrize(
        ("is_error", "status"),
        [(True, "error"), (False, "success"), (None, "success"), ("yes", "success")],
    )
    def test_only_true_is_an_error(self, is_error: Any, status: str) -> None:
        ended = run(answer("m1", use("t1")), result_of("t1", is_error=is_error), OK)
        assert tools(ended)[-1][2] == status

    def test_is_error_is_absent_on_some_successes(self) -> None:
        ended = run(answer("m1", use("t1", "Write")), result_of("t1"), OK)
        assert tools(ended)[-1] == ("t1", "Write", "success")

    def test_results_come_in_order_of_completion(self) -> None:
        ended = run(
            answer("m1", use("a")),
            answer("m1", use("b")),
            result_of("b", "B"),
            result_of("a", "A"),
            OK,
        )
        assert [t[0] for t in tools(ended)] == ["a", "b", "b", "a"]

    def test_image_leaves_a_marker(self) -> None:
        source = {"type": "base64", "media_type": "image/png", "data": "QUJD" * 5}
        image = {"type": "image", "source": source}
        ended = run(answer("m1", use("t1")), result_of("t1", [text("a"), image]), OK)
        marker = "a\n[image image/png, 20 characters of base64]"
        assert ended.entries[3]["result"] == marker

    @pytest.mark.parametrize(
        "block",
        [
            {"type": "redacted_thinking", "data": "x"},
            {"type": "thinking", "thinking": "", "signature": "s"},
            {"type": "text", "text": " \n"},
            {"type": "text"},
        ],
    )
    def test_empty_blocks_make_no_turn(self, block: dict[str, Any]) -> None:
        ended = run(answer("m1", block), OK)
        assert ended.turns == 0
        assert len(ended.entries) == 3
        assert not ended.unknown_types

    def test_broken_arguments_are_kept(self) -> None:
        broken: dict[str, Any] = {"__unparsedToolInput": {"raw": '{"a":', "len": 5}}
        ended = run(answer("m1", use("t1", **broken)), OK)
        assert ended.entries[2]["args"] == broken

    def test_todo_write_is_a_plan_too(self) -> None:
        todos = [{"content": "one", "status": "in_progress", "activeForm": "doing"}]
        ended = run(answer("m1", use("t1", "TodoWrite", todos=todos)), OK)
        expected = TodoUpdated((TodoItem("one", "in_progress"),))
        assert ended.of_type(TodoUpdated) == [expected]

    def test_tool_that_the_provider_runs(self) -> None:
        search = {"type": "server_tool_use", "id": "s1", "name": "web_search"}
        found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
        ended = run(answer("m1", search, found), OK)
        assert [t[2] for t in tools(ended)] == ["running", "success"]


def part(kind: str, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    event = {"type": kind, **fields}
    return {"type": "stream_event", "parent_tool_use_id": parent, "event": event}


class TestPartialMessages:
    def test_text_comes_once(self) -> None:
        ended = run(
            part("message_start", message={"id": "m1"}),
            part(
                "content_block_delta", delta={"type": "thinking_delta", "thinking": "h"}
            ),
            part("content_block_delta", delta={"type": "text_delta", "text": "he"}),
            part("content_block_delta", delta={"type": "text_delta", "text": "y"}),
            part("content_block_delta", delta={"type": "input_json_delta"}),
            answer("m1", text("hey")),
            part("content_block_stop"),
            part("message_stop"),
            OK,
        )
        assert texts(ended) == ["hey"]
        assert ended.of_type(TextDelta) == [TextDelta("he", "m1"), TextDelta("y", "m1")]
        assert ended.of_type(ThinkingDelta) == [ThinkingDelta("h", "m1")]
        assert not ended.unknown_types

    def test_a_subagents_are_left_out(self) -> None:
        delta = {"type": "text_delta", "text": "sub"}
        ended = run(part("content_block_delta", parent="t1", delta=delta), OK)
        assert ended.of_type(TextDelta) == []


class TestTasks:
    def statuses(self, *lines: Any) -> list[str]:
        return [u.status for u in run(*lines).of_type(SubagentUpdated)]

    def test_background_command(self) -> None:
        started = system("task_started", task_id="b", tool_use_id="t1")
        launched = {"tool_use_result": {"backgroundTaskId": "b"}}
        ended = run(started, result_of("t1", **launched), OK)
        assert ended.story.background == {"b"}
        done = system("task_updated", task_id="b", patch={"status": "killed"})
        assert self.statuses(started, done) == ["running", "stopped"]

    def test_foreground_task_ends_with_its_tool(self) -> None:
        started = system("task_started", task_id="a", tool_use_id="t1")
        assert not run(started, result_of("t1"), OK).story.background

    def test_backgrounded_task_does_not(self) -> None:
        fields = {"task_id": "a", "tool_use_id": "t1", "is_backgrounded": True}
        started = system("task_started", **fields)
        assert run(started, result_of("t1"), OK).story.background == {"a"}

    def test_list_of_what_runs(self) -> None:
        listed = system("background_tasks_changed", tasks=[{"task_id": "b"}])
        none = system("background_tasks_changed", tasks=[])
        assert self.statuses(listed, listed, none) == ["running", "completed"]

    def test_late_progress_opens_nothing(self) -> None:
        done = system("task_notification", task_id="a", status="completed", summary="s")
        late = system("task_progress", task_id="a", usage={"tool_uses": 1})
        assert self.statuses(system("task_started", task_id="a"), done, late) == [
            "running",
            "completed",
        ]


class TestOtherLines:
    def test_session(self) -> None:
        fields = {"session_id": "s", "model": "m[1m]", "claude_code_version": "2.1.332"}
        found = run(system("init", cwd="/src", **fields), OK).of_type(SessionStarted)
        assert found == [SessionStarted("s", "m[1m]", "/src", "", "2.1.332")]

    def test_retry_is_a_notice_and_no_progress(self) -> None:
        retry = {"attempt": 1, "max_retries": 10, "error_status": 529, "error": "busy"}
        found = run(system("api_retry", **retry), OK).of_type(Notice)
        assert found == [Notice("API retry 1 of 10: busy (status 529)")]

    def test_hidden_thinking_is_progress(self) -> None:
        found = run(system("thinking_tokens", estimated_tokens=5), OK)
        assert found.of_type(ThinkingDelta) == [ThinkingDelta("")]

    def test_replayed_prompt(self) -> None:
        line = {"type": "user", "isReplay": True, "message": {"content": "do it"}}
        ended = run(line, OK)
        assert ended.of_type(Prompt) == [Prompt("do it")]
        assert ended.entries[1]["content"] == "do it"

    def test_nudge_is_no_prompt(self) -> None:
        line = {"type": "user", "isSynthetic": True, "message": {"content": "go on"}}
        assert run(line, OK).of_type(Prompt) == []

    def test_permission_is_asked_and_answered(self) -> None:
        request = {
            "subtype": "can_use_tool",
            "tool_name": "Bash",
            "input": {"command": "ls"},
            "tool_use_id": "t1",
        }
        asked = {"type": "control_request", "request_id": "r1", "request": request}
        answered = {
            "type": "control_response",
            "response": {"request_id": "r1", "response": {"behavior": "allow"}},
        }
        ended = run(asked, answered, OK)
        expected = ApprovalAsked("r1", "Bash", {"command": "ls"}, "t1")
        assert ended.of_type(ApprovalAsked) == [expected]
        resolved = [InteractionResolved("r1", "approved")]
        assert ended.of_type(InteractionResolved) == resolved

    def test_request_that_is_taken_back(self) -> None:
        request = {"subtype": "can_use_tool"}
        asked = {"type": "control_request", "request_id": "r1", "request": request}
        cancel = {"type": "control_cancel_request", "request_id": "r1"}
        found = run(asked, cancel, cancel, OK).of_type(InteractionResolved)
        assert found == [InteractionResolved("r1", "cancelled")]

    def test_hooks(self) -> None:
        found = run(
            system("hook_started", hook_id="h", hook_name="PreToolUse:Bash"),
            system("hook_response", hook_id="h", output="out", exit_code=2),
            OK,
        ).of_type(HookUpdated)
        assert [h.status for h in found] == ["running", "failed"]
        assert (found[1].stdout, found[1].exit_code) == ("out", 2)

    def test_memories(self) -> None:
        memories = [{"path": "a.md"}, {"path": "b.md"}]
        line = system("memory_recall", mode="select", memories=memories)
        expected = MemoryRecalled("select", ("a.md", "b.md"))
        assert run(line, OK).of_type(MemoryRecalled) == [expected]

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ({"type": "brand_new"}, "brand_new"),
            ({"no_type": 1}, "(no type)"),
            ({"type": ["x"]}, "(no type)"),
            (system("brand_new"), "system/brand_new"),
            (answer("m1", {"type": "hologram"}), "assistant/hologram"),
            (part("brand_new"), "stream_event/brand_new"),
        ],
    )
    def test_unknown_types(self, line: Any, name: str) -> None:
        ended = run(line, OK)
        assert ended.unknown_types == {name: 1}
        assert ended.outcome.status == "success"

    @pytest.mark.parametrize(
        "line",
        [
            {"type": "assistant"},
            {"type": "assistant", "message": None},
            {"type": "assistant", "message": {"id": "a", "content": None}},
            {"type": "assistant", "message": {"id": 7, "content": [None, 3, "x"]}},
            {"type": "user", "message": "hello"},
            {"type": "user", "message": {"content": [{"type": "tool_result"}]}},
            {"type": "stream_event", "event": "x"},
            {"type": "stream_event", "event": {"type": "message_delta", "usage": 1}},
            {"type": "control_response", "response": None},
            {"type": "system", "subtype": "task_updated", "patch": 3},
            {"type": "system", "subtype": "background_tasks_changed", "tasks": "x"},
            {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed"}},
        ],
    )
    def test_wrong_shapes_never_fail(self, line: Any) -> None:
        ended = run(line, OK)
        assert not ended.failures
        assert len(ended.entries) == 3
        assert ended.outcome.status == "success"

    def test_bare_string_is_text(self) -> None:
        line = {"type": "assistant", "message": {"id": "b", "content": "plain"}}
        assert texts(run(line, OK)) == ["plain"]

    def test_answers_without_an_id(self) -> None:
        line = {"type": "assistant", "message": {"content": "plain"}}
        assert run(line, line, OK).turns == 2

    def test_tools_without_an_id(self) -> None:
        ended = run(answer("m1", {"type": "tool_use", "name": "x"}), OK)
        assert tools(ended)[0] == ("tool-1", "x", "running")


def test_final_event_counts() -> None:
    ended = run(answer("m1", text("hi")), OK | {"num_turns": 2}, OK | {"num_turns": 1})
    assert ended.of_type(Message) == [Message("hi", "m1")]
    assert [f.turns for f in ended.of_type(RunFinished)] == [2, 3]
