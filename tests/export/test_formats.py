"""ATIF, OpenTelemetry, AG-UI: nothing is lost.

From each export the dialog is made again and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from agent_wrap import entries
from agent_wrap.entries import UNKNOWN, Entry
from agent_wrap.export import ag_ui, atif, otel
from agent_wrap.export.atif_reading import Trajectory
from agent_wrap.export.run import Run

from .samples import SAMPLES, runs

RUNS = runs()
WHOLE = {name: run for name, run in RUNS.items() if name != "headless"}
"""A dialog without `init` is none of the protocol: it is exported, not restored."""


def exported(module: Any, run: Run) -> str:
    return "".join(module.export(run))


def original(run: Run) -> list[Entry]:
    return list(run.read())


def restored(found: Iterator[Entry]) -> list[Entry]:
    return sorted(found, key=lambda entry: int(entry["seq"]))


# ---- ATIF -------------------------------------------------------------------


@pytest.mark.parametrize("name", RUNS)
def test_atif_loses_nothing(name: str) -> None:
    run = RUNS[name]
    trajectory = Trajectory(json.loads(exported(atif, run)))
    assert trajectory.entries() == original(run)
    assert trajectory.notes == []


def test_atif_knows_the_summary() -> None:
    found = json.loads(exported(atif, SAMPLES["plain"]))
    assert found["schema_version"] == "ATIF-v1.8"
    assert found["session_id"] == "s-1"
    assert found["agent"]["version"] == "2.0"
    final = found["final_metrics"]
    assert (final["total_cost_usd"], final["total_cached_tokens"]) == (0.25, 1000)
    assert final["extra"]["exit_code"] == 124


# ---- OpenTelemetry ----------------------------------------------------------


USED_IN, USED_OUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"


def plain(value: dict[str, Any]) -> Any:
    (kind, inner), *_ = value.items()
    if kind == "arrayValue":
        return [plain(item) for item in inner["values"]]
    return int(inner) if kind == "intValue" else inner


def spans_of(text: str) -> list[dict[str, Any]]:
    (resource,) = json.loads(text)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    found: list[dict[str, Any]] = scope["spans"]
    for span in found:
        listed = span["attributes"]
        span["attributes"] = {item["key"]: plain(item["value"]) for item in listed}
        assert len(span["attributes"]) == len(listed)
    return found


def from_otel(text: str) -> Iterator[Entry]:
    root, *others = spans_of(text)
    yield from from_root(root["attributes"])
    for span in others:
        have = span["attributes"]
        seqs, moments = have.get("agent_wrap.seq", []), have.get("agent_wrap.ts", [])
        origins = list(zip(seqs, moments, strict=True))
        if have["gen_ai.operation.name"] == "chat":
            (answer,) = json.loads(have["gen_ai.output.messages"])
            texts = [part for part in answer["parts"] if part["type"] != "tool_call"]
            for (seq, ts), part in zip(origins, texts, strict=True):
                if part["type"] == "reasoning":
                    yield entries.thinking(seq, ts, part["content"])
                else:
                    used = have.get(USED_IN), have.get(USED_OUT)
                    tokens = None if used[0] is None else used
                    yield entries.message(seq, ts, part["content"], tokens)
            continue
        yield from from_tool(span, origins)


def from_root(have: dict[str, Any]) -> Iterator[Entry]:
    prompts = iter(json.loads(have["gen_ai.input.messages"]))
    keys = ("agent_wrap.type", "agent_wrap.seq", "agent_wrap.ts")
    for kind, seq, ts in zip(*(have[key] for key in keys), strict=True):
        if kind == "init":
            yield entries.init(
                seq,
                ts,
                task=have["agent_wrap.task"],
                cwd=have["agent_wrap.cwd"],
                model=have.get("gen_ai.request.model", UNKNOWN),
                agent=have["gen_ai.agent.name"],
            )
        elif kind == "prompt":
            yield entries.prompt(seq, ts, next(prompts)["parts"][0]["content"])
        else:
            yield entries.complete(
                seq,
                ts,
                status=have["agent_wrap.status"],
                turns=have["agent_wrap.turns"],
                duration_ms=have["agent_wrap.duration_ms"],
                tokens=(have[USED_IN], have[USED_OUT]),
                message=have.get("agent_wrap.message", ""),
            )


def from_tool(span: dict[str, Any], origins: list[tuple[int, str]]) -> Iterator[Entry]:
    have = span["attributes"]
    call = have["gen_ai.tool.call.id"], have["gen_ai.tool.name"]
    args = json.loads(have.get("gen_ai.tool.call.arguments", "{}"))
    if have["agent_wrap.started"]:
        seq, ts = origins.pop(0)
        yield entries.tool_start(seq, ts, *call, args)
    for seq, ts in origins:
        output = have.get("gen_ai.tool.call.result", "")
        ok = span["status"]["code"] == 1
        yield entries.tool_result(seq, ts, *call, output, ok=ok)


@pytest.mark.parametrize("name", WHOLE)
def test_otel_loses_nothing(name: str) -> None:
    run = RUNS[name]
    assert restored(from_otel(exported(otel, run))) == original(run)


def test_otel_spans_are_one_tree_in_time() -> None:
    for name, run in RUNS.items():
        root, *others = spans_of(exported(otel, run))
        assert "parentSpanId" not in root
        assert len({span["spanId"] for span in [root, *others]}) == 1 + len(others), (
            name
        )
        begin, end = int(root["startTimeUnixNano"]), int(root["endTimeUnixNano"])
        for span in others:
            assert span["parentSpanId"] == root["spanId"]
            assert span["traceId"] == root["traceId"]
            first, last = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            assert begin <= first <= last <= end, name


# ---- AG-UI ------------------------------------------------------------------


def from_ag_ui(text: str) -> Iterator[Entry]:
    args: dict[str, Any] = {}
    for event in map(json.loads, text.splitlines()):
        more = event["metadata"]["agentWrap"]
        at = more["seq"], more["ts"]
        match event["type"]:
            case "RUN_STARTED":
                yield entries.init(*at, **more["init"])
            case "TEXT_MESSAGE_START":
                role, used, text = event["role"], more.get("tokens"), ""
            case "REASONING_START":
                text = ""
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                text = event["delta"]
            case "TEXT_MESSAGE_END" if role == "user":
                yield entries.prompt(*at, text)
            case "TEXT_MESSAGE_END":
                tokens = (used["in"], used["out"]) if used else None
                yield entries.message(*at, text, tokens)
            case "REASONING_END":
                yield entries.thinking(*at, text)
            case "TOOL_CALL_START":
                name = event["toolCallName"]
            case "TOOL_CALL_ARGS":
                args = json.loads(event["delta"])
                yield entries.tool_start(*at, event["toolCallId"], name, args)
            case "TOOL_CALL_RESULT":
                call = event["toolCallId"], more["name"]
                ok = more["status"] == "success"
                yield entries.tool_result(*at, *call, event["content"], ok=ok)
            case "RUN_FINISHED" | "RUN_ERROR":
                end = event.get("result") or more["result"]
                (usage,) = event["usage"]
                keys = ("status", "turns", "duration_ms", "message")
                yield entries.complete(
                    *at,
                    **{key: end[key] for key in keys},
                    tokens=(usage["inputTokens"], usage["outputTokens"]),
                )


@pytest.mark.parametrize("name", WHOLE)
def test_ag_ui_loses_nothing(name: str) -> None:
    run = RUNS[name]
    assert restored(from_ag_ui(exported(ag_ui, run))) == original(run)
