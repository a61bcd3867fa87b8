"""ACP: tokens and models, in each agent's own form."""

from __future__ import annotations

import pytest

from agent_wrap.events import (
    Notice,
    SessionStarted,
    Usage,
)

from .acp_talk import (
    MODEL,
    SESSION,
    Talk,
    done,
    hello,
    rpc,
    run,
    said,
    update,
)


class TestUsage:
    @pytest.mark.parametrize(
        ("name", "figures", "expected"),
        [
            (  # the cache is a part of the input, the total is of the whole prompt
                "Vibe",
                {
                    "inputTokens": 2100,
                    "outputTokens": 41,
                    "totalTokens": 2141,
                    "cachedReadTokens": 601,
                },
                Usage(1499, 601, 0, 41, message_id="answer-0", scope="total"),
            ),
            (  # the cache comes on top, and the figures are of the last answer alone
                "OpenCode",
                {
                    "inputTokens": 799,
                    "outputTokens": 21,
                    "totalTokens": 1121,
                    "cachedReadTokens": 301,
                },
                Usage(799, 301, 0, 21, message_id="answer-0", scope="message"),
            ),
            (  # reasoning comes on top
                "Agent",
                {
                    "inputTokens": 100,
                    "outputTokens": 10,
                    "thoughtTokens": 5,
                    "totalTokens": 115,
                    "cachedReadTokens": 20,
                },
                Usage(80, 20, 0, 15, 5, message_id="answer-0", scope="total"),
            ),
        ],
        ids=["total", "last-answer", "reasoning"],
    )
    def test_forms(self, name: str, figures: dict[str, int], expected: Usage) -> None:
        assert Talk(hello(name), done(**figures)).of(Usage) == [expected]

    def test_none(self) -> None:
        """Kimi Code reports none; the size of its context is none either."""
        late = update("usage_update", used=1121, size=200000)
        ended = run(hello(), SESSION, said("hi"), done(), late)
        assert ended.of_type(Usage) == []
        assert ended.outcome.status == "success"

    def test_of_the_last_answer_only_is_said(self) -> None:
        ended = run(hello("OpenCode"), done(inputTokens=1, totalTokens=1))
        assert "last answer" in ended.of_type(Notice)[0].text

    def test_of_each_answer(self) -> None:
        """Qwen Code tells it in an empty chunk, before the answer's tools run."""
        figures = {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100}
        empty = {"content": {"type": "text", "text": ""}, "_meta": {"usage": figures}}
        call = {"toolCallId": "t", "rawInput": {"command": "ls"}}
        lines = [
            said("I run it."),
            update("tool_call", **call, status="pending"),
            update("agent_message_chunk", **empty),
            update("tool_call_update", **call, status="completed"),
            said("Done."),
            update("agent_message_chunk", **empty),
        ]
        ended = run(hello("qwen-code"), SESSION, *lines, done())
        assert [usage.message_id for usage in ended.of_type(Usage)] == [
            "answer-1",
            "answer-2",
        ]
        assert (ended.tokens.total_in, ended.tokens.output) == (2000, 200)

    def test_of_the_prompt_beside_the_protocol(self) -> None:
        """Gemini CLI puts it elsewhere."""
        counts = {"token_count": {"input_tokens": 2001, "output_tokens": 201}}
        end = rpc(id=2, result={"stopReason": "end_turn", "_meta": {"quota": counts}})
        ended = run(hello("gemini-cli"), SESSION, said("hi"), end)
        assert (ended.tokens.total_in, ended.tokens.output) == (2001, 201)
        assert ended.outcome.status == "success"


def test_several_prompts_are_one_run() -> None:
    """As another client had them, with its own ids."""
    counts = {"inputTokens": 1000, "outputTokens": 100, "totalTokens": 1100}
    ended = run(
        rpc(id="a", result={"protocolVersion": 1, "agentInfo": {"name": "n"}}),
        rpc(id="b", result={"sessionId": "s", "configOptions": [MODEL]}),
        said("one"),
        rpc(id="c", result={"stopReason": "end_turn", "usage": counts}),
        said("two"),
        rpc(id="d", result={"stopReason": "end_turn", "usage": counts}),
    )
    assert (ended.tokens.total_in, ended.tokens.output) == (2000, 200)
    assert ended.turns == 2
    assert ended.outcome.status == "success"
    assert ended.entries[0]["data"]["model"] == "m/1"


def test_a_model_of_settings_of_its_own_is_told_by_its_name() -> None:
    """Qwen Code's id for it is `$runtime|openai|...`, in both places."""
    model = "$runtime|openai|m(openai)"
    known = [{"modelId": "x", "name": "X"}, {"modelId": model, "name": "m"}]
    models = {"currentModelId": model, "availableModels": known}
    options = [{"value": model, "name": "m"}]
    option = {"id": "model", "currentValue": model, "options": options}
    for told in ({"models": models}, {"models": models, "configOptions": [option]}):
        session = rpc(id=1, result={"sessionId": "s", **told})
        started = Talk(hello(), session).of(SessionStarted)[-1]
        assert isinstance(started, SessionStarted)
        assert started.model == "m"
