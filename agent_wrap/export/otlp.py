"""Spans as OTLP JSON has them: identifiers, moments, attributes, the request."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from agent_wrap.version import __version__
from agent_wrap.view.reading import moment

INTERNAL, CLIENT = 1, 3
OK, ERROR = 1, 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Span = dict[str, Any]


class Trace:
    """Makes the spans of one trace; identifiers follow from the seed alone."""

    def __init__(self, seed: bytes) -> None:
        self._seed = hashlib.sha256(seed).digest()
        self._count = 0

    def span(self, name: str, kind: int, start: str, end: str) -> Span:
        """Give a span's frame; the first one is the parent of all others."""
        span: Span = {
            "traceId": self._seed[:16].hex(),
            "spanId": self._id(self._count),
            "name": name,
            "kind": kind,
            "startTimeUnixNano": str(nanoseconds(start)),
            "endTimeUnixNano": str(nanoseconds(end)),
        }
        if self._count:
            span["parentSpanId"] = self._id(0)
        self._count += 1
        return span

    def _id(self, number: int) -> str:
        return hashlib.sha256(self._seed + str(number).encode()).hexdigest()[:16]


def request(spans: list[Span], service: str) -> dict[str, Any]:
    """Give an ExportTraceServiceRequest."""
    resource = {"service.name": service, "telemetry.sdk.language": "python"}
    scope = {"name": "agent-wrap", "version": __version__}
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": attributes(resource)},
                "scopeSpans": [{"scope": scope, "spans": spans}],
            }
        ]
    }


def status(good: bool, message: str) -> dict[str, Any]:
    """Give a span's status."""
    return {"code": OK} if good else {"code": ERROR, "message": message}


def attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Give attributes; what is None is left out."""
    return [
        {"key": key, "value": _value(value)}
        for key, value in values.items()
        if value is not None
    ]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(inner) for inner in value]}}
    return {"stringValue": str(value)}


def nanoseconds(ts: str) -> int:
    """Give a moment as Unix nanoseconds."""
    found = moment(ts)
    return (found - _EPOCH) // timedelta(microseconds=1) * 1000 if found else 0
