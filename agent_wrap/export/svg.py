"""SVG: the picture of a run, self-contained; time runs from left to right.

The drawing alone has no style, so that the HTML page can hold it too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent_wrap.export.markup import line
from agent_wrap.export.picture import COLUMNS, Bar, Picture, Point, picture_of
from agent_wrap.export.run import Run
from agent_wrap.view import words

LEFT, RIGHT = 90, 70
WIDTH = LEFT + COLUMNS + RIGHT
TOOL, CURVE, GAP = 12, 36, 8
MOST_TICKS = 8
STEPS = (
    *(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400),
)
STYLE = """
.picture text{font:11px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--dim)}
.picture .value{font-variant-numeric:tabular-nums}
.picture .grid{stroke:var(--line);stroke-width:1}
.picture .answer{fill:var(--blue)}.picture .good{fill:var(--good)}
.picture .bad{fill:var(--bad)}.picture .open{fill:var(--dim)}
.picture .good,.picture .answer{fill-opacity:.85}
.picture .curve{fill:var(--blue);fill-opacity:.3;stroke:var(--blue)}
"""
_FILE_STYLE = """.paper{fill:var(--bg)}
.picture text.title{font-size:15px;font-weight:600;fill:var(--fg)}
"""
_LIGHT = {
    **{"bg": "#fff", "fg": "#1c2128", "dim": "#59636e", "line": "#d8dee4"},
    **{"good": "#1a7f37", "bad": "#c42b31", "blue": "#0b5fc4"},
}
_DARK = {
    **{"bg": "#0d1117", "fg": "#e6edf3", "dim": "#9198a1", "line": "#30363d"},
    **{"good": "#4cc763", "bad": "#ff7b72", "blue": "#6cb0ff"},
}
_TITLE = 50


def export(run: Run) -> Iterator[str]:
    """Give the picture as a file of its own."""
    row = run.row
    facts = [
        *(words.known(row["agent"], row["model"]), row["status"]),
        words.count(row["turns"], "turn"),
        words.count(row["tools"], "tool"),
        words.tokens(row["tokens_in"], row["tokens_out"]),
        words.cost(row["cost_usd"]),
        words.duration(row["duration_ms"] / 1000),
    ]
    said = line(" · ".join(fact for fact in facts if fact))
    body, height = _body(picture_of(run), _TITLE, linked=False)
    yield _open(height)
    dark = f"@media(prefers-color-scheme:dark){{{_coloured(_DARK)}}}"
    yield f"<style>{_coloured(_LIGHT)}{dark}</style>\n"
    yield f'<rect class="paper" width="{WIDTH}" height="{height}"/>\n'
    yield f'<text class="title" x="10" y="20">{line(run.title, 100)}</text>\n'
    yield f'<text x="10" y="37">{said}</text>\n'
    yield from body
    yield "</svg>\n"


def _coloured(colours: dict[str, str]) -> str:
    """Give the file's style without variables, which only browsers know."""
    style = STYLE + _FILE_STYLE
    for name, colour in colours.items():
        style = style.replace(f"var(--{name})", colour)
    return style


def drawing(run: Run) -> Iterator[str]:
    """Give the picture as part of a page that has `STYLE` and each entry's anchor."""
    body, height = _body(picture_of(run), 0, linked=True)
    yield _open(height)
    yield from body
    yield "</svg>\n"


def _open(height: int) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="picture" role="img" '
        f'aria-label="The run over time" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}">\n'
    )


def _body(picture: Picture, top: int, linked: bool) -> tuple[list[str], int]:
    """Draw all rows from a height downwards; give them and the height of it all."""
    found: list[str] = []
    y = top + GAP
    for name, lanes in (("model", [picture.answers]), ("tools", picture.tools)):
        lanes = [lane for lane in lanes if lane]
        if lanes:
            found.append(_name(name, y + TOOL - 2))
        for lane in lanes:
            found += (_bar(bar, y, picture.duration, linked) for bar in lane)
            y += TOOL + 3
        y += GAP if lanes else 0
    for name, points, unit in (
        ("tokens in", picture.tokens_in, lambda n: words.short(round(n))),
        ("tokens out", picture.tokens_out, lambda n: words.short(round(n))),
        ("memory", picture.memory, words.size),
        ("CPU", picture.cpu, lambda n: words.count(round(n, 1), "core")),
    ):
        if points:
            found.append(_curve(name, points, unit, y, picture.duration))
            y += CURVE + GAP
    ticks = [*_ticks(picture.duration, top + GAP / 2, y)]
    return [*ticks, *found], y + 20


def _bar(bar: Bar, y: float, duration: float, linked: bool) -> str:
    x, end = _x(bar.start, duration), _x(bar.end, duration)
    wide = f'x="{x:.1f}" width="{max(1.5, end - x - 0.5):.1f}"'
    took = words.duration(bar.end - bar.start)
    many = f"{bar.count}x " if bar.count > 1 else ""
    title = line(f"{words.clock(bar.start)} · {took} · {many}{bar.label}")
    shapes = f'<rect class="{bar.kind}" {wide} y="{y}" height="{TOOL}"/>'
    if bar.failed:
        high = max(2.0, TOOL * bar.failed / bar.count)
        low = f'y="{y + TOOL - high:.1f}" height="{high:.1f}"'
        shapes += f'<rect class="bad" {wide} {low}/>'
    body = f"<title>{title}</title>{shapes}"
    return f'<a href="#e{bar.seq}">{body}</a>\n' if linked else f"<g>{body}</g>\n"


def _curve(
    name: str,
    points: list[Point],
    unit: Callable[[float], str],
    y: int,
    duration: float,
) -> str:
    """Draw steps: a value holds until the next one."""
    highest = max(value for _, value in points) or 1
    base = y + CURVE
    way = [f"M{_x(points[0][0], duration):.1f},{base}"]
    for at, value in points:
        way.append(f"H{_x(at, duration):.1f}V{base - CURVE * value / highest:.1f}")
    way.append(f"H{_x(duration, duration):.1f}V{base}Z")
    return (
        f'{_name(name, y + CURVE // 2 + 4)}<path class="curve" d="{"".join(way)}"/>\n'
        f'<text class="value" x="{LEFT + COLUMNS + 6}" y="{y + CURVE // 2 + 4}">'
        f"{line(unit(max(value for _, value in points)))}</text>\n"
    )


def _ticks(duration: float, top: float, bottom: int) -> Iterator[str]:
    step = next((s for s in STEPS if duration / s <= MOST_TICKS), duration / MOST_TICKS)
    number = 0
    while number * step <= duration * 1.0001:
        x = _x(number * step, duration)
        yield f'<path class="grid" d="M{x:.1f},{top}V{bottom}"/>'
        yield f'<text class="value" x="{x:.1f}" y="{bottom + 14}" text-anchor="middle">'
        yield f"{words.tick(number * step, step)}</text>\n"
        number += 1


def _x(at: float, duration: float) -> float:
    return LEFT + COLUMNS * min(1.0, max(0.0, at / duration))


def _name(name: str, y: int) -> str:
    return f'<text x="{LEFT - 8}" y="{y}" text-anchor="end">{name}</text>\n'
