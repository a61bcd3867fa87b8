"""Claude Code's stream, one trap a test. Shapes as its versions 2.1.197 and 2.1.332."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.events import (
    ApprovalAsked,
    HookUpdated,
    InteractionResolved,
    MemoryRecalled,
    Notice,
    Prompt,
    SessionStarted,
    SubagentUpdated,
    TextDelta,
    ThinkingDelta,
    TodoItem,
    TodoUpdated,
)

from .claude_lines import (
    OK,
    answer,
    part,
    result_of,
    run,
    system,
    text,
    tools,
    usage,
    use,
)
from .replays import texts


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
