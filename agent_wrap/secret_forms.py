"""Which values are secret, and the forms in which they can come.

Secret by the name of their variable; then as they are, JSON-escaped, in base64 at
each alignment, URL-encoded. Source of the rule: docs/command-line.md, Redaction.
"""

from __future__ import annotations

from _json import encode_basestring, encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:  # the launcher uses this module, before anything dear is imported
    from collections.abc import Iterable, Iterator, Mapping

_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH")
_LEAST, LEAST_NAMED, _LEAST_LINE, _LEAST_USER = 8, 4, 32, 16

_WORDS = (
    "anonymous automatic changeme disabled external internal keychain not-needed "
    "oauth-personal optional password placeholder required undefined x-oauth-basic"
)
"""Settings and placeholders, no secrets: a dialog without them cannot be read."""

_EDGE = " \t\r\n\"'"
_ALNUM = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PLAIN = _ALNUM + b"-._"  # the same in every form but base64: most keys have no other
_SPACED = bytes(b if b in _ALNUM else 0x20 for b in range(256))
_URL_KEEPS = (  # what the encoders in use leave as it is
    b"-._~",  # RFC 3986, Go
    b"-._~/",  # Python's quote
    b"-._~!'()*",  # encodeURIComponent
    b"-._~!$&'()*+,;=",  # what the user part of a URL may hold
    b"-._*",  # forms: URLSearchParams
)


def secrets_of(
    environment: Mapping[str, str], extra_names: Iterable[str] = ()
) -> dict[str, str]:
    """Give the variables whose values are to be hidden.

    By its name, a value of at least 8 bytes that is no number, word, path or URL (but
    a URL that carries a password or a token is). `extra_names` add any from 4 bytes.
    """
    named = frozenset(extra_names)
    return {
        name: value
        for name, value in environment.items()
        if (_size(value) >= LEAST_NAMED if name in named else _is_secret(name, value))
    }


def _is_secret(name: str, value: str) -> bool:
    # GIT_AUTHOR_NAME holds a name; AUTHORIZATION and AUTHORITY stay.
    upper = name.upper().replace("AUTHORI", "AUTH").replace("AUTHOR", "")
    if not any(word in upper for word in _NAMES) or _size(value) < _LEAST:
        return False
    text = _trim(value)
    if _is_url(text):
        return bool(_credentials(text))
    # `--------` and `********` are rulers and masks.
    plain = len(set(text)) == 1 or text.lower() in _WORDS.split()
    return not (plain or _is_path(text) or _is_number(text))


def _is_url(text: str) -> bool:
    scheme, colon, _ = text.partition("://")
    return bool(colon) and scheme.translate({43: "", 45: "", 46: ""}).isalnum()


def _is_path(text: str) -> bool:
    # One base64 text in 64 begins with a slash too.
    return text.startswith(("/", "./", "../", "~/")) and not any(
        map(_is_random, text.split("/"))
    )


def _is_random(text: str) -> bool:
    plain = text.replace("+", "").replace("=", "")
    kinds = (str.isupper, str.islower, str.isdigit)
    return len(text) >= 16 and plain.isalnum() and all(any(map(k, text)) for k in kinds)


def _is_number(text: str) -> bool:
    if len(text) > 20:  # more than 64 bits: nobody counts with it
        return False
    try:
        float(text)
    except ValueError:
        return text[:2].lower() == "0x" and not text[2:].strip("0123456789abcdefABCDEF")
    return True


def _trim(text: str) -> str:
    # Without the quotes that `docker run --env-file` keeps: in a JSON text they are
    # not the secret's but the string's. A backslash at the end may escape what follows.
    return text.lstrip(_EDGE).rstrip(_EDGE + "\\")


def _raw(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # no environment holds it, a caller's mapping may
        return text.encode("utf-8", "surrogatepass")


def _size(text: str) -> int:
    return len(_raw(_trim(text)))


def forms_of(value: str) -> Iterator[bytes]:
    text = _trim(value)
    for part in (text, *_credentials(text)):
        raw = _raw(part)
        yield raw
        yield from _in_base64(raw)
        if not raw.translate(None, _PLAIN):
            continue
        yield from _in_url(raw)
        # As text, bytes that are no UTF-8 are lone surrogates or U+FFFD.
        for shown in {part, raw.decode("utf-8", "replace")}:
            yield from _in_json(shown)
    for line in _long_lines(text):
        yield _raw(line)
        yield encode_basestring_ascii(line)[1:-1].encode()


def _credentials(text: str) -> list[str]:
    """Give the password in a URL, or the token in its place: as written, decoded."""
    if not _is_url(text):
        return []
    authority = text.partition("://")[2].partition("/")[0]
    user, _, found = authority.rpartition("@")[0].partition(":")
    if len(found) < _LEAST or found.lower() in _WORDS.split():
        if len(user) < _LEAST_USER:
            return []
        found = user
    if "%" not in found:
        return [found]
    from urllib.parse import unquote

    return [found, unquote(found)]


def _long_lines(text: str) -> list[str]:
    """Give the lines of a key that show much of it; a `\\n` in letters ends one too."""
    lines = text.replace("\\n", "\n").split("\n")
    if len(lines) == 1:
        return []
    trimmed = map(_trim, lines)
    return [s for s in trimmed if len(s) >= _LEAST_LINE and not s.startswith("-----")]


def _in_json(text: str) -> Iterator[bytes]:
    yield text.encode("utf-8", "surrogatepass")
    for escape in (encode_basestring_ascii, encode_basestring):
        once = escape(text)[1:-1]
        for form in (once, escape(once)[1:-1]):  # arguments are JSON inside JSON
            for slash in ("/", "\\/"):
                shown = form.replace("/", slash)
                yield shown.encode("utf-8", "surrogatepass")
            # Go's encoder is made for pages.
            page = {60: "\\u003c", 62: "\\u003e", 38: "\\u0026"}
            yield form.translate(page).encode("utf-8", "surrogatepass")
            # .NET's as well, with capital digits, and it escapes two more.
            page = {
                60: "\\u003C",
                62: "\\u003E",
                38: "\\u0026",
                43: "\\u002B",
                39: "\\u0027",
            }
            yield form.translate(page).encode("utf-8", "surrogatepass")


def _in_base64(raw: bytes) -> Iterator[bytes]:
    """Give the characters that depend on nothing but `raw`, at each of 3 alignments."""
    from binascii import b2a_base64

    for offset in range(3):
        coded = b2a_base64(bytes(offset) + raw, newline=False)
        stable = coded[-(-8 * offset // 6) : 8 * (offset + len(raw)) // 6]
        if len(stable) >= _LEAST:  # fewer occur by chance
            yield stable
            yield stable.translate(bytes.maketrans(b"+/", b"-_"))


def _in_url(raw: bytes) -> Iterator[bytes]:
    for keep in _URL_KEEPS:
        for style in ("%%%02X", "%%%02x"):
            plain = _ALNUM + keep
            form = "".join(chr(b) if b in plain else style % b for b in raw).encode()
            yield form
            yield form.replace(b"%20", b"+")


def needle_of(form: bytes, forms: Iterable[bytes]) -> bytes:
    """Give what to look for in place of `form`: letters and digits that others share.

    Alone, the whole form is found faster; below 8 characters they occur by chance.
    """
    core = max(form.translate(_SPACED).split(), key=len, default=b"")
    shared = len(core) >= _LEAST and any(core in f for f in forms if f != form)
    return core if shared else form
