"""Reading the body of a request: a bounded JSON object, and fields of a kind."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import ClientDisconnect, Request

from agent_wrap.serve.web import http_error

LONGEST_BODY = 1024 * 1024


async def read_object(request: Request) -> dict[str, Any]:
    """Read a bounded body: a JSON object. Raises an error that answers the request."""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > LONGEST_BODY:
                raise http_error(413, "The body is too large", "BODY_TOO_LARGE")
        found = json.loads(body)
    except (ValueError, RecursionError, ClientDisconnect):
        raise invalid() from None
    if not isinstance(found, dict):
        raise invalid()
    return found


def text_of(body: dict[str, Any], key: str) -> str:
    """Give a text that must be there and not empty."""
    value = body.get(key)
    if not isinstance(value, str) or not value:
        raise invalid()
    return value


def invalid() -> Exception:
    """Make the error for a body that is not what the route takes."""
    return http_error(400, "Invalid request", "VALIDATION_ERROR")
