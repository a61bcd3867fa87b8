"""Parts of Qwen Code's lines: usage, exit codes and errors printed as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from agent_wrap.events import ApprovalAsked, Event, Usage
from agent_wrap.shapes import get_dict, get_text
from agent_wrap_adapters.stream_json import blocks, unknown, usage_of

API_ERROR = "[API Error: "
_REPORT, _EXIT_CODE = "Command: ", "\nExit Code: "


def usage_in(event: dict[str, Any], message_id: str = "") -> Usage | None:
    """Read a `usage`, where cached tokens are part of the input; None: all zero."""
    usage = usage_of(get_dict(event, "usage"), message_id)
    read = max(usage.input - usage.cached, 0)
    return replace(usage, input=read) if usage.input or usage.output else None


def split_error(message: dict[str, Any], *, whole: bool) -> tuple[dict[str, Any], str]:
    """Part a message from the error that is printed as if the model had said it.

    `whole`: only a text that begins with one is an error, no quoted one.
    """
    content, error = [], ""
    for block in blocks(message):
        text = get_text(block, "text")
        at = text.find(API_ERROR)
        if at == 0 or (at > 0 and not whole):
            block, error = {**block, "text": text[:at]}, text[at:].strip()
        content.append(block)
    return {**message, "content": content}, error


def failed_exit(output: str) -> bool:
    """Does a report of a shell command name an exit code that is not zero?"""
    if not output.startswith(_REPORT):
        return False
    code = output.rpartition(_EXIT_CODE)[2].split("\n")[0].strip()
    return code.isdecimal() and code.strip("0") != ""


def control_request(event: dict[str, Any]) -> Iterator[Event]:
    """Read what the agent asks of who started it."""
    request = get_dict(event, "request")
    subtype = get_text(request, "subtype")
    if subtype != "can_use_tool":
        yield unknown(subtype, "control_request/")
        return
    yield ApprovalAsked(
        get_text(event, "request_id"),
        get_text(request, "tool_name"),
        get_dict(request, "input"),
        get_text(request, "tool_use_id"),
    )
