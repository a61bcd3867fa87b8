"""What will be run: the adapter, the command made ready, the prompt's way in.

Made before the agent runs, so with the standard library's cheapest modules only.
"""

from __future__ import annotations

import os
import time

from agent_wrap import registry
from agent_wrap.errors import UsageError
from agent_wrap.settings import Settings, run_directory
from agent_wrap.writer import PROMPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent_wrap.adapter import Adapter
    from agent_wrap.identity import Identity
    from agent_wrap.redact import Redactor
    from agent_wrap.writer import Archive

SIDE_FILES = ".agent-wrap-side"


class Plan:
    """What will be run and what is known about it before it runs.

    `adapter` is None when the first lines of the stream are to choose it.
    `detected_by` says what chose it (`option`, `program`, `stream`). `written` counts
    the entries that are on disk before the agent runs; `adapted` says that the adapter
    has brought a given prompt to the agent; `notes` are to be said on stderr.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.created = time.time()
        self.run_id = os.urandom(8).hex()
        self.command = list(settings.command)
        self.cwd = run_directory(settings)
        self.prompt = settings.prompt
        self.stdin: bytes | None = None
        self.environment = dict(settings.environment)
        self.model = settings.model
        self.adapter_name = ""
        self.detected_by = ""
        self.adapter: type[Adapter] | None = None
        self.written = 0
        self.prompt_in_file = False
        self.side_folder = ""
        self.adapted = False
        self.notes: list[str] = []
        self.identity: Identity | None = None
        if settings.user:
            from agent_wrap.identity import find_identity

            self.identity = find_identity(settings.user)
            self.environment.update(self.identity.environment)

    @property
    def agent_name(self) -> str:
        """What `init` calls the agent; empty where its own stream says so."""
        if self.adapter is not None and self.adapter.names_agent:
            return self.settings.agent
        return self.settings.agent or self.adapter_name

    @property
    def two_way(self) -> bool:
        """Is the agent spoken to over its stdin?"""
        return self.adapter is not None and self.adapter.speaks_two_way(self.command)

    @property
    def all_known(self) -> bool:
        """Is everything known that `init` names?"""
        settings = self.settings
        told = not settings.daemon_socket or bool(settings.task and settings.cwd)
        return bool(told and self.model and self.agent_name)


def make_plan(settings: Settings) -> Plan:
    """Choose the adapter and make the command ready.

    Raises AdapterError, and UsageError for a user that cannot be taken.
    """
    plan = Plan(settings)
    if settings.adapter != "auto":
        entry, plan.detected_by = registry.find(settings.adapter), "option"
    elif (found := registry.by_program(plan.command)) is not None:
        entry, plan.detected_by = found, "program"
    else:
        if settings.resume:
            plan.notes.append("--resume had no effect: the adapter is not known yet")
        return plan
    plan.adapter_name = entry.name
    plan.adapter = entry.load()
    if settings.resume:
        _resume(plan, plan.adapter)
    if registry.program_of(plan.command) in plan.adapter.programs:
        _adapt(plan, plan.adapter)
    return plan


def check_asking(plan: Plan, *, answered: bool) -> None:
    """See that `--permissions ask` has who answers and who asks. Raises UsageError."""
    if plan.settings.permissions != "ask":
        return
    if not answered:
        raise UsageError(
            "--permissions ask: nobody could answer",
            "Add --serve HOST:PORT, use `agent-wrap serve`, or say allow or deny",
        )
    if not plan.two_way:
        raise UsageError(
            "--permissions ask: COMMAND does not ask over its stdin and stdout",
            "docs/sessions.md names commands that do",
        )


def can_resume(plan: Plan) -> bool:
    """Does the adapter know how this command goes on with a session?"""
    return plan.adapter is not None and _resumed(plan, plan.adapter, "id") is not None


def _resumed(plan: Plan, adapter: type[Adapter], session: str) -> Sequence[str] | None:
    command = plan.settings.command
    if plan.two_way or registry.program_of(command) in adapter.programs:
        return adapter.resume(command, session)
    return None


def _resume(plan: Plan, adapter: type[Adapter]) -> None:
    """Let an adapter make its agent go on with a session."""
    words = _resumed(plan, adapter, plan.settings.resume)
    if words is None:
        plan.notes.append(
            f"--resume had no effect: {plan.adapter_name} cannot tell this command to "
            "go on with a session"
        )
    else:
        plan.command = list(words)


def _adapt(plan: Plan, adapter: type[Adapter]) -> None:
    """Let an adapter make a command of its own program ready."""
    settings = plan.settings
    plan.model = plan.model or adapter.model_from(plan.command) or _named(plan, adapter)
    wanted = settings.prompt if settings.prompt_via == "auto" else None
    if any("{prompt" in word for word in plan.command):
        wanted = None
    prepared = adapter.prepare(plan.command, wanted)
    if plan.prompt is None:
        plan.prompt = prepared.prompt
    if settings.no_adapt:
        return
    plan.command = prepared.command
    plan.environment.update(prepared.environment)
    if wanted is not None and not plan.two_way:
        plan.stdin = prepared.stdin
        plan.adapted = prepared.stdin is not None or wanted in prepared.command
        own = None if plan.adapted else adapter.prepare(plan.command, None).prompt
        if own:
            plan.prompt, plan.adapted = own, True
            plan.notes.append("the given prompt is not used: COMMAND has one already")
    if prepared.added:
        plan.notes.append(f"added for {plan.adapter_name}: {', '.join(prepared.added)}")


def _named(plan: Plan, adapter: type[Adapter]) -> str:
    """Give the model that the agent's environment names."""
    told = (plan.environment.get(name, "") for name in adapter.model_variables)
    return next(filter(None, told), "")


def deliver_prompt(plan: Plan, archive: Archive) -> None:
    """Bring a given prompt to the agent as `--prompt-via` says."""
    prompt, via = plan.settings.prompt, plan.settings.prompt_via
    if prompt is None or via == "none":
        return
    if via in ("auto", "argv") and _has(plan, "{prompt}"):
        plan.command = [word.replace("{prompt}", prompt) for word in plan.command]
    elif via in ("auto", "file") and _has(plan, "{prompt_file}"):
        path = os.path.join(os.path.abspath(archive.path), PROMPT)
        error = archive.write_file(PROMPT, prompt.encode("utf-8", "replace"))
        plan.prompt_in_file = error is None
        if error is not None:
            plan.notes.append(f"the prompt's file could not be written: {error}")
        plan.command = [word.replace("{prompt_file}", path) for word in plan.command]
    elif via == "stdin":
        if not plan.two_way:  # whose stdin speaks a protocol, the prompt in it
            plan.stdin = prompt.encode("utf-8", "replace")
    elif via == "auto" and not (plan.adapted or plan.two_way):
        plan.notes.append(
            "the prompt is only recorded: put {prompt} or {prompt_file} into the "
            "command, or use --prompt-via stdin"
        )
    elif via in ("argv", "file"):
        mark = "{prompt}" if via == "argv" else "{prompt_file}"
        plan.notes.append(f"the prompt is only recorded: the command has no {mark}")


def give_side_folder(plan: Plan, archive: Archive) -> None:
    """Make the folder for an agent's side files, where its command has a word for it.

    It is the agent's own to write to, and removed when it has been read.
    """
    if plan.adapter is None or plan.settings.no_adapt:
        return
    from agent_wrap.adapter import SIDE_FOLDER

    if SIDE_FOLDER not in plan.command:
        return
    path = plan.side_folder = os.path.join(os.path.abspath(archive.path), SIDE_FILES)
    plan.command = [path if word == SIDE_FOLDER else word for word in plan.command]
    plan.notes = [note.replace(SIDE_FOLDER, path) for note in plan.notes]
    identity = plan.identity
    owner = (identity.uid, identity.gid) if identity is not None else None
    error = archive.make_folder(SIDE_FILES, owner)
    if error is not None:
        plan.notes.append(f"no folder for side files: {error.strerror or error}")


def clean_prompt_file(plan: Plan, archive: Archive, redactor: Redactor) -> None:
    """Take the secrets out of the prompt's file, once the agent needs it no more."""
    if plan.prompt_in_file:
        prompt = archive.read_file(PROMPT)
        clean = redactor.replace(prompt)
        if clean != prompt and archive.write_file(PROMPT, clean) is not None:
            archive.remove(PROMPT)


def _has(plan: Plan, mark: str) -> bool:
    return any(mark in word for word in plan.command)
