"""Codex: `codex exec --json PROMPT`, and `codex app-server`.

The app-server is spoken to over its stdin: a thread, a turn with the prompt, and what
it asks for is answered.

What is needed before the agent runs stands here; reading is loaded after.
"""

from __future__ import annotations

from agent_wrap import Prepared
from agent_wrap_adapters.argv import Arguments, Options, as_stdin
from agent_wrap_adapters.command_line import CommandLine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from agent_wrap.events import Event

_OPTIONS = Options(
    one="-m --model -c --config -p --profile -s --sandbox -C --cd -o --enable "
    "--disable --output-last-message --output-schema --color --add-dir -a "
    "--local-provider --ask-for-approval --remote --base --commit --title --listen "
    "--startup-client-info --cloud-skills-snapshot --code-mode-host",
    several="-i --image",
)
_EXEC = ("exec", "e")
_JOBS = ("resume", "fork", "review", "help")
_SERVER = "app-server"
_JSON = ("--json", "--experimental-json")


class Codex(CommandLine):
    """Reads `codex exec --json`; lines of the app-server's JSON-RPC as well."""

    programs = frozenset({"codex"})
    options = _OPTIONS
    versions_checked = ("0.98.0", "0.171.0")
    gives = (
        "text, thinking (summaries of it), tools, tokens of the run (sub-agents' "
        "not), model where it is `codex app-server`; turns are messages of the "
        "assistant"
    )

    def __init__(self) -> None:
        from agent_wrap_adapters.codex_app_server import AppServerStream
        from agent_wrap_adapters.codex_exec import ExecStream

        self._exec = ExecStream()
        self._app_server = AppServerStream()

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one line states."""
        if "type" not in event and _is_rpc(event):
            return self._app_server.feed(event)
        return self._exec.feed(event)

    def start(self) -> Iterator[Event]:
        """Begin the conversation, where there is one."""
        return self._app_server.client.start(self.brief)

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> Iterator[Event]:
        """Answer a request for approval, a question or a form."""
        return self._app_server.client.answer(interaction_id, resolution, content)

    def cancel(self) -> Iterator[Event]:
        """Interrupt the turn."""
        return self._app_server.client.cancel()

    @classmethod
    def speaks_two_way(cls, command: Sequence[str]) -> bool:
        """Is it the app-server, on its stdin and stdout?"""
        found = cls.arguments(command)
        return _serves(found)

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell Codex by the start of a thread, or by the app-server's greeting."""
        if event.get("type") == "thread.started":
            return isinstance(event.get("thread_id"), str)
        params, result = event.get("params"), event.get("result")
        if event.get("method") == "thread/started":
            return isinstance(params, dict) and "thread" in params
        return isinstance(result, dict) and "codexHome" in result

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Ask `codex exec` for JSON lines; a given prompt goes in by stdin."""
        words = list(command)
        found = cls.arguments(words)
        if not found.operands or found.operands[0][1] not in _EXEC:
            return Prepared(words)
        flag_at, told = _exec_operands(found)
        stdin = None
        if prompt is not None and told in (None, "-"):
            stdin = as_stdin(prompt)
        if prompt is None and told != "-":
            prompt = told
        added = [] if found.has(*_JSON) else ["--json"]
        words[flag_at:flag_at] = added
        return Prepared(words, prompt=prompt, stdin=stdin, added=added)

    @classmethod
    def resume(cls, command: Sequence[str], session_id: str) -> Sequence[str] | None:
        """Go on with a thread: `exec resume ID PROMPT`; the app-server is asked."""
        words = list(command)
        found = cls.arguments(words)
        if _serves(found):
            return words
        operands = found.operands
        if not operands or operands[0][1] not in _EXEC or len(operands) > 2:
            return None  # another job, or a thread is named already
        if len(operands) == 1:
            return [*words, "resume", session_id]
        # Options of `exec` that `resume` has not: they must all stand before it.
        at, prompt = operands[1]
        if prompt in _JOBS:
            return None
        rest = [word for word in words[at + 1 :] if word != "--"]
        before = [word for word in words[operands[0][0] : at] if word != "--"]
        return [*words[: operands[0][0]], *before, *rest, "resume", session_id, prompt]

    @classmethod
    def model_from(cls, command: Sequence[str]) -> str:
        """Give what `--model` or `-c model=...` says."""
        found = cls.arguments(command)
        if model := found.value("--model", "-m"):
            return model
        for name in ("-c", "--config"):
            for setting in reversed(found.given.get(name, [])):
                key, _, value = setting.partition("=")
                if key.strip() == "model":
                    return value.strip().strip("\"'")
        return ""


def _serves(found: Arguments) -> bool:
    """Is this the app-server itself, and spoken to by nobody else?"""
    listens = found.value("--listen") in ("", "stdio://")
    return [word for _, word in found.operands] == [_SERVER] and listens


def _is_rpc(event: dict[str, Any]) -> bool:
    return "method" in event or (
        "id" in event and ("result" in event or "error" in event)
    )


def _exec_operands(found: Arguments) -> tuple[int, str | None]:
    """Give the place for a flag of `exec`, and the prompt among its operands."""
    operands = found.operands[1:]
    at = found.operands[0][0] + 1
    if operands and operands[0][1] in ("resume", "review"):
        at, resumes = operands[0][0] + 1, operands[0][1] == "resume"
        operands = operands[1:]
        if resumes and not found.has("--last"):
            operands = operands[1:]  # the thread's id
    return at, operands[0][1] if operands else None
