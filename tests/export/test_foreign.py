"""What others wrote reads every export: Harbor, OpenTelemetry, AG-UI.

Their packages are the extra `formats`; Harbor's is installed beside it, without what
it depends on, and needs Python 3.12: `pip install --no-deps harbor`.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest

from agent_wrap.export import ag_ui, atif, markdown, otel
from agent_wrap.export.markup import visible
from agent_wrap.export.run import Run

from ..dialogs import RECORDINGS
from .samples import SAMPLES, runs

RUNS = runs()


def exported(module: Any, run: Run) -> str:
    return "".join(module.export(run))


def spans_of(text: str) -> list[dict[str, Any]]:
    (resource,) = json.loads(text)["resourceSpans"]
    (scope,) = resource["scopeSpans"]
    found: list[dict[str, Any]] = scope["spans"]
    return found


def test_there_is_much_to_read() -> None:
    assert len({path.parent.parent for path in RECORDINGS}) >= 20
    assert len(RUNS) == len(RECORDINGS) + len(SAMPLES)


def test_harbor_accepts_every_trajectory() -> None:
    validator = pytest.importorskip("harbor.utils.trajectory_validator")
    for name, run in RUNS.items():
        check = validator.TrajectoryValidator()
        assert check.validate(json.loads(exported(atif, run))), (name, check.errors)


def test_the_opentelemetry_protocol_accepts_every_trace() -> None:
    name = "opentelemetry.proto.collector.trace.v1.trace_service_pb2"
    kind = pytest.importorskip(name).ExportTraceServiceRequest
    json_format = pytest.importorskip("google.protobuf.json_format")
    for run in RUNS.values():
        found = json.loads(exported(otel, run))
        for span in found["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for key in ("traceId", "spanId", "parentSpanId"):  # OTLP has them in hex
                if key in span:
                    raw = bytes.fromhex(span[key])
                    span[key] = base64.b64encode(raw).decode()
        request = json_format.ParseDict(found, kind())
        spans = request.resource_spans[0].scope_spans[0].spans
        assert {(len(span.trace_id), len(span.span_id)) for span in spans} == {(16, 8)}
        assert kind.FromString(request.SerializeToString()) == request


def test_the_opentelemetry_sdk_takes_every_attribute() -> None:
    """It drops what is no attribute's value: arrays of several types, objects."""
    kind = pytest.importorskip("opentelemetry.attributes").BoundedAttributes
    sdk = pytest.importorskip("opentelemetry.sdk.trace")
    trace = pytest.importorskip("opentelemetry.trace")
    for name, run in RUNS.items():
        for span in spans_of(exported(otel, run)):
            ids = int(span["traceId"], 16), int(span["spanId"], 16)
            context = trace.SpanContext(*ids, is_remote=False)
            assert context.is_valid, name
            given = {item["key"]: plain(item["value"]) for item in span["attributes"]}
            kept = kind(attributes=given)
            made = sdk.ReadableSpan(
                *(span["name"], context),
                attributes=kept,
                start_time=int(span["startTimeUnixNano"]),
                end_time=int(span["endTimeUnixNano"]),
            )
            assert json.loads(made.to_json())["attributes"] == given, name


def plain(value: dict[str, Any]) -> Any:
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [plain(item) for item in inner["values"]]
    return int(inner) if kind == "intValue" else inner


def test_the_semantic_conventions_know_our_names() -> None:
    known = pytest.importorskip(
        "opentelemetry.semconv._incubating.attributes.gen_ai_attributes"
    )
    names = {value for value in vars(known).values() if isinstance(value, str)}
    used = {
        item["key"]
        for run in RUNS.values()
        for span in spans_of(exported(otel, run))
        for item in span["attributes"]
        if item["key"].startswith("gen_ai.")
    }
    assert used <= names


def test_ag_ui_accepts_every_event() -> None:
    core = pytest.importorskip("ag_ui.core")
    adapter = pytest.importorskip("pydantic").TypeAdapter(core.Event)
    assert ag_ui.PROTOCOL == core.PROTOCOL_VERSION
    for run in RUNS.values():
        for line in exported(ag_ui, run).splitlines():
            event = adapter.validate_json(line)
            shown = json.loads(event.model_dump_json(by_alias=True))
            assert shown == json.loads(line)
            assert not event.model_extra


def test_a_markdown_parser_finds_nothing_but_text() -> None:
    """No link, no image, no HTML but ours; and each text is there, whole."""
    parser = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    ours = re.compile("<details><summary>[^<>]*</summary>|</details>")
    for name, run in RUNS.items():
        tokens = parser.parse("".join(markdown.export(run)))
        inner = [child for token in tokens for child in token.children or ()]
        kinds = {token.type for token in (*tokens, *inner)}
        assert not kinds & {"html_inline", "link_open", "image"}, name
        for token in tokens:
            if token.type == "html_block":
                assert ours.fullmatch(token.content.strip()), name
        fences = {token.content for token in tokens if token.type == "fence"}
        for entry in run.read():
            text = entry.get("content", "")
            if entry["type"] == "thinking" or (entry["type"] == "prompt" and text):
                assert visible(text).strip("\n") + "\n" in fences


def test_the_order_of_ag_ui_events_is_what_its_validator_expects() -> None:
    """Of every recording; our hard samples break the dialog's own rules of order."""
    plugin = pytest.importorskip("ag_ui_validate.pytest_plugin")
    for name in RUNS.keys() - SAMPLES.keys():
        text = exported(ag_ui, RUNS[name])
        plugin.assert_valid_agui([json.loads(line) for line in text.splitlines()])
