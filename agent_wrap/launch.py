"""What happens before the agent runs, in order, with nothing heavy imported.

    settings -> command and adapter -> archive -> init, prompt -> guardian -> agent

The supervisor's first act is to start the agent; only then does it load the event
loop. So an agent never runs without a dialog that can be finished, and it never
waits for our imports (docs/adr/0002).
"""

from __future__ import annotations

import os
import sys
import time

from agent_wrap import entries, guardian, process, registry
from agent_wrap.errors import AgentWrapError, SpawnError
from agent_wrap.settings import Settings, run_directory
from agent_wrap.writer import Archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_wrap.adapter import Adapter

PROMPT_FILE = "prompt.txt"


class Plan:
    """What will be run and what is known about it before it runs.

    `adapter` is None until it is loaded: at once for a command of an adapter's own
    program, after the start otherwise. `detected_by` says what chose it.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.started = time.time()
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
        self.entry: registry.Entry | None = None
        self.written = 0
        self.notes: list[str] = []

    @property
    def agent_name(self) -> str:
        """What `init` calls the agent, as far as it is known."""
        return self.settings.agent or self.adapter_name


def launch(settings: Settings, started: float) -> int:
    """Run the agent; give the exit code. `started` is our own start, monotonic.

    Raises UsageError, AdapterError or ArchiveError before anything has run.
    """
    mask = process.block_signals()
    plan = make_plan(settings)
    archive = Archive.open(settings.archive)
    _deliver_prompt(plan, archive)
    _open_dialog(plan, archive)
    for note in plan.notes:
        say(note)

    def supervise(control: int) -> int:
        return _supervise(plan, archive, control, mask, started)

    return guardian.guard(supervise)


def say(text: str) -> None:
    """Tell the operator something, one line on stderr."""
    try:
        print(f"agent-wrap: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):  # closed, full or gone
        pass


def make_plan(settings: Settings) -> Plan:
    """Choose the adapter and make the command ready. Raises AdapterError."""
    plan = Plan(settings)
    if settings.adapter != "auto":
        plan.entry, plan.detected_by = registry.find(settings.adapter), "option"
    else:
        plan.entry = registry.by_program(plan.command)
        plan.detected_by = "program" if plan.entry else ""
    if plan.entry is None:
        return plan
    plan.adapter_name = plan.entry.name
    if registry.program_of(plan.command) in plan.entry.programs:
        plan.adapter = plan.entry.load()
        _adapt(plan, plan.adapter)
    return plan


def _adapt(plan: Plan, adapter: type[Adapter]) -> None:
    """Let an adapter make a command of its own program ready."""
    settings = plan.settings
    plan.model = plan.model or adapter.model_from(plan.command)
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
    if wanted is not None:
        plan.stdin = prepared.stdin
    if prepared.added:
        plan.notes.append(f"added for {plan.adapter_name}: {', '.join(prepared.added)}")


def _deliver_prompt(plan: Plan, archive: Archive) -> None:
    """Bring a given prompt to the agent as `--prompt-via` says."""
    prompt, via = plan.settings.prompt, plan.settings.prompt_via
    if prompt is None or via == "none":
        return
    if via in ("auto", "argv") and any("{prompt}" in w for w in plan.command):
        plan.command = [word.replace("{prompt}", prompt) for word in plan.command]
    elif via in ("auto", "file") and any("{prompt_file}" in w for w in plan.command):
        path = os.path.join(os.path.abspath(archive.path), PROMPT_FILE)
        error = archive.write_file(PROMPT_FILE, prompt.encode("utf-8", "replace"))
        if error is not None:
            plan.notes.append(f"the prompt's file could not be written: {error}")
        plan.command = [word.replace("{prompt_file}", path) for word in plan.command]
    elif via == "stdin":
        plan.stdin = prompt.encode("utf-8", "replace")
    elif via == "auto" and (plan.adapter is None or plan.settings.no_adapt):
        plan.notes.append(
            "the prompt is only recorded: put {prompt} or {prompt_file} into the "
            "command, or use --prompt-via stdin"
        )
    elif via in ("argv", "file"):
        mark = "{prompt}" if via == "argv" else "{prompt_file}"
        plan.notes.append(f"the prompt is only recorded: the command has no {mark}")


def _open_dialog(plan: Plan, archive: Archive) -> None:
    """Write `init`, and the prompt, when all that they name is known already."""
    settings = plan.settings
    if not (plan.model and plan.agent_name):
        return
    if settings.daemon_socket and not (settings.task and settings.cwd):
        return
    stamp = entries.timestamp(time.time())
    first = entries.init(
        0,
        stamp,
        task=settings.task,
        cwd=plan.cwd,
        model=plan.model,
        agent=plan.agent_name,
    )
    lines = [_line(first)]
    if plan.prompt is not None:
        lines.append(_line(entries.prompt(1, stamp, plan.prompt)))
    for line in lines:
        if archive.dialog.append(line):
            plan.written += 1


def _line(value: object) -> bytes:
    """Encode a first entry: `json` costs an interpreter start before the agent runs."""
    return _json(value).encode("ascii") + b"\n"


def _json(value: object) -> str:
    if isinstance(value, dict):
        inner = ",".join(f"{_json(k)}:{_json(v)}" for k, v in value.items())
        return f"{{{inner}}}"
    if isinstance(value, int):
        return str(value)
    return _quoted(str(value))


def _quoted(text: str) -> str:
    from _json import encode_basestring_ascii  # what json.dumps uses, without `re`

    clean = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return encode_basestring_ascii(clean.replace("\0", "\ufffd"))


def _supervise(
    plan: Plan, archive: Archive, control: int, mask: set[int], started: float
) -> int:
    """Start the agent, then load what it takes to watch it. Runs in the supervisor."""
    agent: process.Agent | None = None
    failure: SpawnError | None = None
    environment = {**plan.environment, "AGENT_WRAP_RUN": plan.run_id}
    timeout = plan.settings.timeout
    if timeout is not None:
        environment["AGENT_WRAP_DEADLINE"] = f"{plan.started + timeout:.3f}"
    try:
        agent = process.spawn(
            plan.command, environment, plan.cwd, mask, stdin=plan.stdin is not None
        )
    except SpawnError as error:
        failure = error
    spawned = time.monotonic()
    from agent_wrap.supervisor import Supervisor

    try:
        return Supervisor(
            plan, archive, control, agent, failure, started=started, spawned=spawned
        ).run()
    except AgentWrapError as error:
        say(str(error))
        return error.exit_code
