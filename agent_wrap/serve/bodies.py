"""The body of a request: bounded, and a JSON object."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import ClientDisconnect, Request

from agent_wrap.serve.web import http_error

LONGEST_BODY = 1024 * 1024


async def read_object(request: Request) -> dict[str, Any]:
    """Read the body; what is no JSON object, or too long, is the client's error."""
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


def invalid() -> Exception:
    """Make the error for a request that does not make sense."""
    return http_error(400, "Invalid request", "VALIDATION_ERROR")
