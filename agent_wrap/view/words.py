"""Numbers, durations and signs as people read them."""

from __future__ import annotations

from collections.abc import Callable

from agent_wrap.entries import UNKNOWN

PROMPT = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT} "


def clock(elapsed: float) -> str:
    """Give seconds as 0:07, 12:34 or 1:02:03."""
    whole = max(0, int(elapsed))
    hours, rest = divmod(whole, 3600)
    minutes, secs = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


def duration(elapsed: float) -> str:
    """Give seconds as 0.4 s, 12 s, 3 min 5 s or 2 h 10 min."""
    if elapsed < 9.95:
        return f"{elapsed:.1f} s"
    whole = round(elapsed)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def tick(elapsed: float, step: float) -> str:
    """Give a moment on a scale whose marks are `step` seconds apart."""
    if step >= 1:
        return clock(elapsed)
    return f"{elapsed:.{3 if step < 0.01 else 2 if step < 0.1 else 1}f} s"


def size(number: float) -> str:
    """Give bytes in few letters: 512 B, 4.2 MB, 1.5 GB."""
    for unit in ("B", "kB", "MB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if number >= 9.95 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def count(number: float, word: str) -> str:
    """Give `1 turn`, `2 turns`, `1,200 turns`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def short(number: int) -> str:
    """Give a number of tokens in few letters: 9,004, 12.3k, 4.5M."""
    if number < 10_000:
        return f"{number:,}"
    if number < 999_950:
        return f"{number / 1000:.1f}k"
    return f"{number / 1_000_000:.1f}M"


def exact(number: int) -> str:
    """Give a number with all its digits: 12,345."""
    return f"{number:,}"


def tokens(given: int, made: int, say: Callable[[int], str] = exact) -> str:
    """Give `1,500 → 42 tokens`; empty: an agent that used none did not tell."""
    return f"{say(given)} → {say(made)} tokens" if given or made else ""


def known(*names: str) -> str:
    """Join the names that are known."""
    return " · ".join(name for name in names if name and name != UNKNOWN)


def shortened(text: str, width: int) -> str:
    """Cut a text in its middle; most that stays is its end, which tells paths apart."""
    if len(text) <= width:
        return text
    head = (width - 1) // 3
    tail = max(0, width - 1 - head)
    return f"{text[:head]}…{text[len(text) - tail :]}"


def cost(usd: float | None) -> str:
    """Give a cost; cents need more digits than dollars. Empty: unknown."""
    if usd is None:
        return ""
    return f"${usd:.2f}" if usd >= 1 else f"${usd:.4f}"
