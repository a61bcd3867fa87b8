"""Tool output as text: what agents give as lists of parts (Anthropic, MCP)."""

from __future__ import annotations

from typing import Any

from agent_wrap.shapes import get_dict, get_text


def flatten(content: Any) -> str:
    """Join the text parts by line feeds; a part that is no text leaves a marker."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return _part(content)
    if isinstance(content, list):
        return "\n".join(map(_part, content))
    return "" if content is None else str(content)


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return "" if part is None else str(part)
    kind = get_text(part, "type")
    if kind == "text" or (not kind and "text" in part):
        return get_text(part, "text")
    source = get_dict(part, "source") or get_dict(part, "resource") or part
    if text := get_text(source, "text"):
        return text
    data = get_text(source, "data") or get_text(source, "blob")
    media = get_text(source, "media_type") or get_text(source, "mimeType")
    if data:
        label = " ".join(filter(None, (kind, media)))
        return f"[{label}, {len(data)} characters of base64]"
    name = get_text(source, "url") or get_text(source, "uri") or get_text(part, "name")
    return "[" + " ".join(filter(None, (kind or "part", name))) + "]"
