"""`agent-wrap adapters`: which there are; checking one; beginning one."""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Sequence
from typing import Any

from agent_wrap import registry, scaffold
from agent_wrap.adapter import Adapter, Surroundings
from agent_wrap.drift import how_checked
from agent_wrap.errors import AdapterError, UsageError
from agent_wrap.testing import (
    GOLDEN,
    META,
    STREAM,
    Recording,
    check_golden,
    check_recording,
    figures,
    find_recordings,
    load,
    replay_recording,
)

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_WORD = re.compile(r"\w[\w.+-]*")


def main(argv: Sequence[str]) -> int:
    """List, check or begin adapters; give the exit code."""
    words = list(argv)
    command: list[str] = []
    if "--" in words:
        at = words.index("--")
        words, command = words[:at], words[at + 1 :]
    options = _parser().parse_args(words)
    if options.job == "check":
        return check(options.adapter, options.folders, update=options.update_golden)
    if options.job == "new":
        return begin(options, command)
    return show()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="agent-wrap adapters",
        description="List the installed adapters: programs, versions checked and how, "
        "what their streams give.",
    )
    jobs = parser.add_subparsers(dest="job", metavar="JOB")
    one = jobs.add_parser(
        "check",
        help="check an adapter by recordings alone",
        description="Read every recording whole and in chunks, check the dialog, "
        "compare it with the golden one. Exit 1 if anything is wrong.",
    )
    one.add_argument("adapter", metavar="NAME|module:Class")
    one.add_argument("folders", metavar="FOLDER", nargs="+", help="with recordings")
    one.add_argument(
        "--update-golden", action="store_true", help=f"write {GOLDEN}: read it then"
    )
    new = jobs.add_parser(
        "new",
        help="begin an adapter from a recorded stream",
        usage="agent-wrap adapters new NAME STREAM [options] [-- COMMAND...]",
        description="Write NAME's adapter with a branch for each type of line, and a "
        "first recording; where the adapter is there, add the recording alone. COMMAND "
        "is what printed the stream.",
    )
    new.add_argument("name", metavar="NAME", help="such as my-agent")
    new.add_argument("stream", metavar="STREAM", help="what the agent printed")
    new.add_argument("--into", metavar="DIR", default=".", help="where to (here)")
    new.add_argument("--version", metavar="V", default="0", help="the agent's version")
    new.add_argument("--exit-code", metavar="N", type=int, default=0)
    new.add_argument("--case", metavar="NAME", default="first", help="of the recording")
    return parser


def show() -> int:
    """List the installed adapters; give 0."""
    for name, entry in sorted(registry.known().items()):
        print(name)
        try:
            adapter = entry.load()
        except AdapterError as error:
            print(f"  broken: {error.reason}")
            continue
        ends = "required" if adapter.promises_final_event else "none promised"
        beside = adapter.side_files(Surroundings([name], "", {"HOME": "~"}, "ID"))
        places = [f"{s.pattern}/{s.inside}".rstrip("/") for s in beside]
        for label, value in (
            ("programs", ", ".join(sorted(adapter.programs)) or "(any)"),
            ("checked", how_checked(adapter)),
            ("gives", adapter.gives or "-"),
            ("side files", ", ".join(p.removeprefix("/") for p in places)),
            ("final event", ends),
            ("class", entry.target),
        ):
            if value:
                print(f"  {label + ':':<13}{value}")
    return 0


def check(target: str, folders: Sequence[str], *, update: bool) -> int:
    """Check an adapter by the recordings in folders; say what is wrong with each."""
    make = registry.find(target).load()
    agent = (
        scaffold.adapter_name(target.rpartition(":")[2]) if ":" in target else target
    )
    recordings = [found for folder in folders for found in find_recordings(folder)]
    if not recordings:
        raise UsageError(
            f"no recording in {', '.join(folders)}", f"One is a folder with {STREAM}"
        )
    bad = 0
    for recording in recordings:
        problems = check_recording(recording, make, agent=agent, update=update)
        bad += bool(problems)
        word = "FAILED" if problems else "ok"
        print(f"{word} {recording.name}{_figures(recording, make, agent)}")
        for problem in problems:
            print("  " + problem.replace("\n", "\n  "))
    print(f"{len(recordings) - bad} of {len(recordings)} recordings are as they should")
    return 1 if bad else 0


def _figures(recording: Recording, make: type[Adapter], agent: str) -> str:
    try:
        whole = replay_recording(recording, make, agent=agent)
    except Exception:  # it is among the problems
        return ""
    told: dict[str, Any] = {**figures(whole), **whole.counts}
    return (
        ": {status}, {turns} turns, {tools} tools, {in} in, {out} out; {read} lines, "
        "{mapped} with facts, {ignored} without"
    ).format(**told)


def begin(options: argparse.Namespace, command: Sequence[str]) -> int:
    """Write an adapter and its first recording; say what comes next."""
    name, version = options.name, options.version
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no adapter's name", "Give one like my-agent")
    for word in (version, options.case):
        if not _WORD.fullmatch(word):
            raise UsageError(f"{word!r} names no folder", "Give one like 1.0 or first")
    stream = _read(options.stream)
    if not stream.strip():
        raise UsageError(
            f"{options.stream} is empty",
            "Record what the agent prints in its JSON mode",
        )
    module, cls = scaffold.module_name(name), scaffold.class_name(name)
    source = os.path.join(options.into, f"{module}.py")
    recordings = os.path.join(options.into, "recordings")
    folder = os.path.join(recordings, f"{name}-{version}", options.case)
    meta: dict[str, Any] = {"version": version, "exit_code": options.exit_code}
    if command:
        meta["command"] = list(command)
    _make_folder(folder)
    _write(os.path.join(folder, STREAM), stream)
    _write(os.path.join(folder, META), json.dumps(meta, indent=1).encode() + b"\n")
    words = locals_of(name, recordings)
    if os.path.exists(source):  # somebody's work: it may already say something
        print(ADDED.format(source=source, folder=folder, **words))
        return 0
    text = scaffold.write_adapter(name, version, stream)
    _write(source, text.encode())
    scope: dict[str, Any] = {"__name__": module}
    exec(compile(text, source, "exec"), scope)
    recording = load(folder)
    whole = replay_recording(recording, scope[cls], agent=name)
    check_golden(recording, whole.lines, update=True)
    note = "" if scaffold.has_key(stream) else f"note: {scaffold.NO_KEY}\n"
    print(BEGUN.format(source=source, folder=folder, note=note, **words))
    return 0


CHECKS = """\
  PYTHONPATH={into} agent-wrap adapters check {module}:{cls} {recordings}
  PYTHONPATH={into} agent-wrap adapters check {module}:{cls} {recordings} \
--update-golden"""

BEGUN = f"""\
wrote {{source}}
wrote {{folder}}: stdout.jsonl, meta.json, dialog.jsonl
{{note}}its entry, for the pyproject.toml of its package:
  [project.entry-points."agent_wrap.adapters"]
  {{name}} = "{{module}}:{{cls}} [{{name}}]"
now say in feed() what each type means, look at the dialog, keep it when it is right:
{CHECKS}"""

ADDED = f"""\
kept {{source}}
wrote {{folder}}: stdout.jsonl, meta.json
look at the dialog that the adapter makes of it, keep it when it is right:
{CHECKS}"""


def locals_of(name: str, recordings: str) -> dict[str, str]:
    """Give the words of the text that says what comes next."""
    return {
        "name": name,
        "module": scaffold.module_name(name),
        "cls": scaffold.class_name(name),
        "recordings": recordings,
        "into": os.path.dirname(recordings) or ".",
    }


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def _make_folder(path: str) -> None:
    """Make the folder of a new recording; one that is there is somebody's work."""
    try:
        os.makedirs(path)
    except FileExistsError:
        raise UsageError(
            f"{path} is there already", "Give --case another NAME"
        ) from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None


def _write(path: str, data: bytes) -> None:
    try:
        with open(path, "xb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
