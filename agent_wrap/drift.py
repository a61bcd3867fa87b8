"""Drift: does a run's stream still look like those that its adapter was checked with?

Pure. What is not known says nothing: a stream that does not tell its version.
"""

from __future__ import annotations

from collections.abc import Mapping

from agent_wrap.adapter import Adapter

SHOWN = 3
"""Unknown types that are named; summary.json has them all."""


def warning(
    adapter: type[Adapter], name: str, version: str, unknown: Mapping[str, int]
) -> str:
    """Say in one line what this adapter was not checked with; empty: nothing."""
    parts = []
    if not is_checked(version, adapter.versions_checked):
        known = ", ".join(adapter.versions_checked)
        parts.append(f"version {version} is not among those checked ({known})")
    if unknown:
        named = ", ".join(sorted(unknown)[:SHOWN])
        more = ", ..." if len(unknown) > SHOWN else ""
        parts.append(f"{sum(unknown.values())} events of unknown type ({named}{more})")
    return f"{name}: {'; '.join(parts)}" if parts else ""


def is_checked(version: str, checked: tuple[str, ...]) -> bool:
    """Is this version one of those? One that nobody told, or checked, is no drift.

    Several agents of one adapter are listed as `Name 1.2`, which any 1.2.x fits.
    """
    told = version.split()[0].removeprefix("v") if version.split() else ""
    if not told or not checked:
        return True
    return any(
        told == known.split()[-1]
        or (" " in known and told.startswith(known.split()[-1] + "."))
        for known in checked
    )


def how_checked(adapter: type[Adapter]) -> str:
    """Say for people which versions were checked, and how."""
    if not adapter.versions_checked:
        return "against its documentation only" if adapter.programs else "-"
    return ", ".join(adapter.versions_checked) + " (recordings)"
