"""Secrets that are awkward to find, and redactors for them."""

from __future__ import annotations

from agent_wrap.redact import Redactor

KEY = "sk-ant-api03-Zk9_qWe7-Rt5xYz"
MARK = b"[redacted:MY_KEY]"
BODY = [
    f"{n:02}" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDZ+/"
    for n in range(4)
]
PEM = "\n".join(
    ["-----BEGIN PRIVATE KEY-----", *BODY, "a1b2==", "-----END KEY-----", ""]
)

AWKWARD = [
    KEY,
    'quo"ted\\and/slashed',
    "line one\nline two\ttabbed",
    "p@ss w0rd&<more>é=",
    "ключ-пароль",
    "emoji \U0001f511 key",
    "tilde~star*paren(1)",
    "ends in a backslash\\",
    '"in quotes of its own"',
    "next",
    "2019",
    "u2019",
    "0041abcd",
    "nbfrt/12",
]


def redactor(*values: str) -> Redactor:
    return Redactor({f"S{n}": value for n, value in enumerate(values)})


def redact(value: str, data: bytes) -> bytes:
    return Redactor({"MY_KEY": value}).replace(data)
