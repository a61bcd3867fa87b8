"""Which values are secret, and the forms that each is looked for in."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from agent_wrap.secret_forms import secrets_of

from .secret_values import AWKWARD, BODY, KEY, MARK, PEM, redact, redactor

# Which values are secret.

NAMES = "API_KEY api_key GithubToken A_SECRET_1 PASSWORD DB_PASSWD AUTH KEYS"
NUMBERS = ["12345678", "-123456.789", "1e-1000000", "0xDEADBEEF01", "1_000_000_000"]
WORDS = ["true", "disabled", "Undefined", "PASSWORD", "--------", "xxxxxxxxxxxx"]
PATHS = [
    "/run/user/1000/agent.sock",
    "~/.ssh/id_ed25519",
    "./secrets/key",
    "../some/key",
    "/home/me/.config/gcloud/my-application-credentials-2024.JSON",
    "/a/b/c:/d/e/f",
]
URLS = [
    "https://example.com/a/b?c=d",
    "postgres://postgres@db/app",
    "file:///etc/keys",
    "redis://user:short@host/1",
    "https://user:password@host/",
    "git+ssh://git@host",
]
SECRETS = [
    *AWKWARD[:9],
    PEM,
    "12345678a",
    "ééééa",
    "'12345678a'",
    "123456789012345678901",
    "0xDEADBEEFxx",
    "disabled1",
    '{"uri":"https://host"}',
    "abc/def+ghi=",
    "/x8K+2aQ9zLmN4pR7tV/wXyZ0123456789abcdef",
    "\udcff\udcfe" * 4,
    "postgres://postgres:pa55word-1@db/app",
    "https://ghp_0123456789abcdef@host/r",
    "https://ghp_0123456789abcdef:x-oauth-basic@host/r",
    "https://a:p%40ssword@h",
]


@pytest.mark.parametrize("name", [*NAMES.split(), "CREDENTIALS", "AUTHORIZATION"])
def test_the_name_tells(name: str) -> None:
    assert secrets_of({name: KEY}) == {name: KEY}


@pytest.mark.parametrize(
    "name", ["HOME", "PASS", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "TOKE", "K_E_Y", ""]
)
def test_other_names_are_left_alone(name: str) -> None:
    assert secrets_of({name: KEY}) == {}


@pytest.mark.parametrize("value", ["", "1234567", "éééa", "  1234567  ", '"1234567"'])
def test_short_values_are_no_secret(value: str) -> None:
    assert secrets_of({"MY_KEY": value}) == {}


@pytest.mark.parametrize("value", [*NUMBERS, *WORDS, *PATHS, *URLS])
def test_common_values_are_no_secret(value: str) -> None:
    assert secrets_of({"MY_KEY": value}) == {}


@pytest.mark.parametrize("value", SECRETS)
def test_values_that_are_secret(value: str) -> None:
    assert secrets_of({"MY_KEY": value, "MINE": value}) == {"MY_KEY": value}


@pytest.mark.parametrize(
    "value", ["1234", "true", "/tmp", "éé", "--------", "https://x/", KEY]
)
def test_a_name_that_is_given_takes_any_value_from_4_bytes(value: str) -> None:
    assert secrets_of({"PIN": value, "HOME": "/root"}, ["PIN"]) == {"PIN": value}


@pytest.mark.parametrize("value", ["", "123", "  12  ", "é"])
def test_a_name_that_is_given_takes_no_shorter_value(value: str) -> None:
    assert secrets_of({"MY_KEY": value}, ["MY_KEY", "UNSET"]) == {}


# The forms of a secret.


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("value", AWKWARD)
def test_the_secret_as_it_is_and_in_json(value: str, ascii_only: bool) -> None:
    # Quotes around a secret and a backslash after it are not looked for.
    for text in (f"a {value} b", f"a={value}\n"):
        shown = text.replace(value.strip('\\"'), MARK.decode())
        assert redact(value, text.encode()) == shown.encode()
        once = json.dumps([text], ensure_ascii=ascii_only)
        assert json.loads(redact(value, once.encode())) == [shown]
        twice = json.dumps([once], ensure_ascii=ascii_only)
        (inner,) = json.loads(redact(value, twice.encode()))
        assert json.loads(inner) == [shown]


def test_slashes_may_be_escaped_in_json() -> None:
    assert redact("abc/def/", b'"abc\\/def\\/"') == b'"' + MARK + b'"'


@pytest.mark.parametrize("value", AWKWARD)
def test_the_secret_in_a_url(value: str) -> None:
    text = value.strip('\\"')
    for form in (quote(text), quote(text, safe=""), quote_plus(text)):
        assert redact(value, f"?a={form}&b".encode()) == b"?a=" + MARK + b"&b"
    lower = quote("p@ss w0rd").lower().encode()
    assert redact("p@ss w0rd", lower + b"p%40ss+w0rd") == MARK + MARK


@pytest.mark.parametrize(
    ("value", "form"),
    [
        ("p@ss!w(0)rd ", "p%40ss!w(0)rd"),  # encodeURIComponent
        ("abc8Q~x y*z", "abc8Q%7Ex+y*z"),  # URLSearchParams
        ("abc8Q~x y*z", "abc8Q~x%20y%2Az"),  # Go
        ("a<b>c&defg", "a\\u003cb\\u003ec\\u0026defg"),  # Go's JSON
        ("\udcff\udcfesecret", "\\ufffd\\ufffdsecret"),
        ("\udcff\udcfesecret", "\\udcff\\udcfesecret"),
        ("\udcff\udcfesecret", "\ufffd\ufffdsecret"),
        ("https://me:p%40ss!word@host/a", "p%40ss!word"),
        ("https://me:p%40ss!word@host/a", "p@ss!word"),
        ("https://me:p%40ss!word@host/a", "https://me:p%40ss!word@host/a"),
        ("https://ghp_0123456789abcdef@host/a", "ghp_0123456789abcdef"),
    ],
)
def test_forms_of_other_encoders(value: str, form: str) -> None:
    assert redact(value, f"({form})".encode()) == b"(" + MARK + b")"


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "user::", "Basic x:\xff"])
@pytest.mark.parametrize("after", ["", "\n", "12", "123"])
@pytest.mark.parametrize("value", [KEY, "???>>>~~~", "12345678", "\udcff\xfe\u1234!!"])
def test_base64_at_any_alignment(before: str, after: str, value: str) -> None:
    raw = value.encode("utf-8", "surrogateescape")
    data = before.encode() + raw + after.encode()
    for coded in (base64.b64encode(data), base64.urlsafe_b64encode(data)):
        shown = redact(value, coded)
        assert MARK in shown
        # Characters that belong to the secret's neighbours as well may stay.
        left, right = shown.split(MARK)
        assert len(left) <= len(before.encode()) * 8 // 6 + 1
        assert len(right) <= len(after.encode()) * 8 // 6 + 4


def test_short_base64_is_not_looked_for() -> None:
    assert redactor("1234").forms == (b"1234",)
    assert all(len(form) >= 8 for form in redactor("12345678").forms)


def test_forms_are_distinct_and_the_longest_comes_first() -> None:
    assert len(redactor(KEY).forms) == 4  # as it is, and three alignments
    forms = redactor(*AWKWARD, PEM).forms
    assert len(set(forms)) == len(forms)
    assert list(map(len, forms)) == sorted(map(len, forms), reverse=True)


@pytest.mark.parametrize(
    "value", [PEM, PEM.replace("\n", "\\n"), PEM.replace("\n", "\r\n")]
)
def test_a_key_of_several_lines(value: str) -> None:
    assert redact(value, f"key:\n{value}".encode()).startswith(b"key:\n" + MARK)
    assert redact(value, json.dumps({"a": value}).encode()).count(MARK) == 1
    # Parts of it too: one line alone, and numbered by a tool.
    numbered = "".join(f"{n}\t{line}\n" for n, line in enumerate(PEM.split("\n")))
    shown = redact(value, numbered.encode())
    assert shown.count(MARK) == len(BODY)
    assert b"-----BEGIN PRIVATE KEY-----" in shown  # says nothing


@pytest.mark.parametrize("value", ["", "123", "\\", '""', "  \n", "\\\\\\\\\\\\\\\\"])
def test_nothing_is_looked_for_without_a_value(value: str) -> None:
    assert not redactor(value)
    assert redactor(value).replace(b"a\\\\\\\\ 123\n") == b"a\\\\\\\\ 123\n"


def test_a_value_that_no_environment_can_hold() -> None:
    value = "\ud800\ud801\ud802"
    assert secrets_of({"MY_KEY": value}) == {"MY_KEY": value}
    assert redact(value, json.dumps(value).encode()) == b'"' + MARK + b'"'
