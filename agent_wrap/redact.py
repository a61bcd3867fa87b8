"""Which values are secret, and replacing them, in bytes cut anywhere.

Every byte that belongs to an occurrence of a secret goes, in whatever form below it
comes; occurrences that overlap become one mark, named after the one that begins
first (of several, the longest). So no piece of a secret stays because another one
matched inside it, and what is replaced does not depend on how the bytes are cut.

Not found: a base64 text wrapped within the secret, hexadecimal, `\\u0073` for an `s`
(the encoded entry is looked at again for that), and whatever an agent thinks up.
"""

from __future__ import annotations

from _json import encode_basestring, encode_basestring_ascii

TYPE_CHECKING = False
if TYPE_CHECKING:  # the launcher uses this module, before anything dear is imported
    from collections.abc import Iterable, Iterator, Mapping

_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH")
_LEAST, _LEAST_NAMED, _LEAST_LINE, _LEAST_USER = 8, 4, 32, 16

_WORDS = (
    "anonymous automatic changeme disabled external internal keychain not-needed "
    "oauth-personal optional password placeholder required undefined x-oauth-basic"
)
"""Settings and placeholders, no secrets: a dialog without them cannot be read."""

_EDGE = " \t\r\n\"'"
_ALNUM = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
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
    a URL that carries a password or a token is); any value from 4 bytes in `extra`.
    """
    named = frozenset(extra_names)
    return {
        name: value
        for name, value in environment.items()
        if (_size(value) >= _LEAST_NAMED if name in named else _is_secret(name, value))
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


def _forms(value: str) -> Iterator[bytes]:
    text = _trim(value)
    for part in (text, *_credentials(text)):
        raw = _raw(part)
        yield raw
        # As text, bytes that are no UTF-8 are lone surrogates or U+FFFD.
        for shown in {part, raw.decode("utf-8", "replace")}:
            yield from _in_json(shown)
        yield from _in_base64(raw)
        yield from _in_url(raw)
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


def _core(form: bytes) -> bytes:
    """Give the letters and digits in a row that most forms of a secret share."""
    table = bytes(b if b in _ALNUM else 32 for b in range(256))
    core = max(form.translate(table).split(), key=len, default=b"")
    return core if len(core) >= _LEAST else form  # a shorter one occurs by chance


def _escape_start(data: bytes, at: int) -> int:
    """Give the start of the JSON escape that `at` lies inside; `at` when in none.

    What is replaced begins there: `\\u` and half of its digits would break the line.
    """
    start = data.rfind(b"\\", max(at - 5, 0), at)
    if start < 0:
        return at
    body = data[start + 1 : start + 6]
    if body[:1] == b"u":
        inside = not body[1:].strip(b"0123456789abcdefABCDEF")
    else:  # at the end of the data, anything may follow
        inside = at == start + 1 and body[:1] in b'"\\/bfnrt'
    if not inside:
        return at
    run = start
    while run and data[run - 1] == 0x5C:
        run -= 1
    return at if (start - run) % 2 else start


class Redactor:
    """Replace secrets (name -> value) by `[redacted:NAME]`.

    `forms` is all that is looked for, longest first; `count` the replacements so far.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        marks: dict[bytes, bytes] = {}
        for name, value in secrets.items():
            safe = "".join(c if c.isascii() and c.isalnum() else "_" for c in name)
            for form in _forms(value):
                if len(form) >= _LEAST_NAMED:
                    marks.setdefault(form, f"[redacted:{safe}]".encode())
        self.count = 0
        self.forms = tuple(sorted(marks, key=lambda form: (-len(form), form)))
        self._marks = marks
        # What one of must be there for any form to be: mostly 4 a secret.
        self._needles: list[bytes] = []
        for form in reversed(self.forms):
            if not any(map(form.__contains__, self._needles)):
                self._needles.append(_core(form))
        self._reach = len(self.forms[0]) - 1 if marks else 0
        self._one_line = not any(b"\n" in form for form in self.forms)
        self._starts = frozenset(f[:size] for f in self.forms for size in (1, 2, 3))
        self._heads: dict[bytes, list[bytes]] = {}
        for form in self.forms:
            self._heads.setdefault(form[:4], []).append(form)

    def __bool__(self) -> bool:
        return bool(self.forms)

    def replace(self, data: bytes) -> bytes:
        """Replace every secret in whole data; a line of JSON stays one."""
        return self._apply(data, len(data), 0)[0] if self._found(data) else data

    def clean_text(self, text: str) -> str:
        """Replace every secret in a decoded string."""
        data = text.encode("utf-8", "surrogatepass")
        clean = self.replace(data)
        return text if clean is data else clean.decode("utf-8", "replace")

    def stream(self) -> StreamRedactor:
        """Begin a stream of bytes that come in pieces."""
        return StreamRedactor(self)

    def _found(self, data: bytes) -> bool:
        # One plain find each: a regular expression is five times slower.
        return any(map(data.__contains__, self._needles))

    def _apply(self, data: bytes, cut: int, covered: int) -> tuple[bytes, int]:
        """Replace what begins before `cut`; the first `covered` bytes are gone already.

        The second result is how many bytes after `cut` are gone with them.
        """
        out: list[bytes] = []
        end = covered
        for start, rank, stop in sorted(self._spans(data)):
            if start >= end:
                if start >= cut:
                    break
                out += data[end:start], self._marks[self.forms[rank]]
                self.count += 1
            end = max(end, stop)
        out.append(data[end:cut])
        return b"".join(out), max(end - cut, 0)

    def _spans(self, data: bytes) -> Iterator[tuple[int, int, int]]:
        """Give (start, rank of the form, stop); a form's own overlaps are joined."""
        for rank, form in enumerate(self.forms):
            start = stop = 0
            at = data.find(form)
            while at >= 0:
                begin = _escape_start(data, at)
                if begin >= stop:
                    if stop:
                        yield start, rank, stop
                    start = begin
                stop = at + len(form)
                at = data.find(form, at + 1)
            if stop:
                yield start, rank, stop

    def _cut(self, data: bytes) -> int:
        """Give where the tail begins that may be the start of a secret or an escape.

        Before it, every secret that has begun has ended.
        """
        cut = size = len(data)
        low = max(size - self._reach, 0)
        if self._one_line:
            low = max(low, data.rfind(b"\n", low) + 1)
        for head, forms in self._heads.items():
            at = data.find(head, low)
            while 0 <= at < cut:
                tail = data[at:]
                if any(f.startswith(tail) and len(f) > len(tail) for f in forms):
                    cut = at
                else:
                    at = data.find(head, at + 1)
        if cut == size:
            tails = (data[-3:], data[-2:], data[-1:])
            cut -= next((len(tail) for tail in tails if tail in self._starts), 0)
        return _escape_start(data, cut)


class StreamRedactor:
    """Replace secrets in a stream, in linear time, the same however it is cut.

    What comes in goes out at once, as the same object when nothing matches; held back
    is only a tail that a secret may begin with, and half an escape.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._tail = b""
        self._covered = 0

    def feed(self, chunk: bytes) -> bytes:
        """Take the next bytes; give those that are decided."""
        redactor = self._redactor
        if not redactor:
            return chunk
        data = self._tail + chunk if self._tail else chunk
        cut = redactor._cut(data)
        self._tail = data[cut:]
        if self._covered or redactor._found(data):
            out, self._covered = redactor._apply(data, cut, self._covered)
            return out
        return data[:cut]  # the same object when it is all of it

    def close(self) -> bytes:
        """End of the stream: give what was held back."""
        data, covered = self._tail, self._covered
        self._tail, self._covered = b"", 0
        return self._redactor._apply(data, len(data), covered)[0]
