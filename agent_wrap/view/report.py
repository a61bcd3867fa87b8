"""A folder's runs for other programs: JUnit XML for CI, totals for the rest."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable
from typing import Any

from agent_wrap.entries import UNKNOWN
from agent_wrap.jsonvalue import strip_terminal
from agent_wrap.view import words

Row = dict[str, Any]
PROPERTIES = (
    *("task", "model", "agent", "turns", "tokens_in", "tokens_out", "cost_usd"),
    *("exit_code", "tools", "tools_failed", "started_at"),
)
FAILED = frozenset({"error", "timeout"})
"""The agent's run ended badly: a failure. Any other status but success is an error:
it is not known how the run would have ended."""
GROUPS = ("task", "model", "agent", "status")
_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(name: str, rows: list[Row]) -> str:
    """Give the runs as a JUnit test suite, a run a test case."""
    bad = [row for row in rows if row["status"] != "success"]
    failures = sum(row["status"] in FAILED for row in bad)
    suite = ET.Element(
        "testsuite",
        name=_xml(name),
        tests=str(len(rows)),
        failures=str(failures),
        errors=str(len(bad) - failures),
        skipped="0",
        time=_seconds(sum(row["duration_ms"] for row in rows)),
    )
    for row in rows:
        _case(suite, row)
    suites = ET.Element("testsuites", {**suite.attrib, "name": "agent-wrap"})
    suites.append(suite)
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ET.Element, row: Row) -> None:
    task, *kind = (words.known(row[key]) for key in ("task", "agent", "model"))
    case = ET.SubElement(
        suite,
        "testcase",
        classname=_xml(".".join(name for name in kind if name)),
        name=_xml(f"{task} ({row['run']})" if task else row["run"]),
        time=_seconds(row["duration_ms"]),
    )
    properties = ET.SubElement(case, "properties")
    for key in PROPERTIES:
        if row[key] not in (None, UNKNOWN):
            value = _xml(str(row[key]))
            ET.SubElement(properties, "property", name=key, value=value)
    if row["status"] != "success":
        verdict = "failure" if row["status"] in FAILED else "error"
        said = _xml(row["message"] or row["status"])
        found = ET.SubElement(
            case, verdict, type=_xml(row["status"]), message=said.split("\n")[0]
        )
        found.text = said


def _xml(text: str) -> str:
    """Give a text without what XML 1.0 cannot hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", strip_terminal(text))


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def totals(rows: list[Row]) -> dict[str, Any]:
    """Give sums over all runs and over those of each task, model, agent, status."""
    found: dict[str, Any] = {"version": 1, "total": _sums(rows)}
    for key in GROUPS:
        names = sorted({row[key] for row in rows})
        found[key] = {
            name: _sums([row for row in rows if row[key] == name]) for name in names
        }
    found["runs"] = rows
    return found


def _sums(rows: list[Row]) -> dict[str, Any]:
    good = sum(row["status"] == "success" for row in rows)
    return {
        "runs": len(rows),
        "success": good,
        "success_rate": round(good / len(rows), 4) if rows else None,
        "cost_usd": _sum(rows, "cost_usd", lambda value: round(value, 6)),
        **{
            key: _sum(rows, key, int)
            for key in ("duration_ms", "turns", "tokens_in", "tokens_out")
        },
        **{key: _sum(rows, key, int) for key in ("tools", "tools_failed")},
    }


def _sum(rows: Iterable[Row], key: str, shape: Callable[[float], float]) -> Any:
    """Give the sum of what is known; None: it is known of no run."""
    known = [row[key] for row in rows if row[key] is not None]
    return shape(sum(known)) if known else None
