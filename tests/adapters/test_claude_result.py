"""Claude Code's results: what they sum up to, and how the run ended."""

from __future__ import annotations

from typing import Any

import pytest

from agent_wrap.events import (
    Message,
    Notice,
    RunFinished,
    Usage,
)
from agent_wrap.testing import replay
from agent_wrap_adapters.claude_code import ClaudeCode

from .claude_lines import (
    OK,
    answer,
    last,
    part,
    result_of,
    run,
    system,
    text,
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


def test_final_event_counts() -> None:
    ended = run(answer("m1", text("hi")), OK | {"num_turns": 2}, OK | {"num_turns": 1})
    assert ended.of_type(Message) == [Message("hi", "m1")]
    assert [f.turns for f in ended.of_type(RunFinished)] == [2, 3]
