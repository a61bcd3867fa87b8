"""mini-swe-agent: `mini -y --exit-immediately -t PROMPT`, text wrapped at 80 columns.

The trajectory that it writes beside has the exact words; this reads what is said
while it runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agent_wrap import Prepared, SideFile, Surroundings
from agent_wrap.events import (
    Event,
    Message,
    Notice,
    RunFinished,
    ToolFinished,
    ToolStarted,
    TurnStarted,
    Usage,
)
from agent_wrap.shapes import strip_terminal
from agent_wrap_adapters.argv import Options
from agent_wrap_adapters.command_line import CommandLine
from agent_wrap_adapters.mini_swe_side import places, read

_OPTIONS = Options(
    one="-m --model -t --task -l --cost-limit -c --config -o --output --model-class "
    "--agent-class --environment-class"
)
_STEP = re.compile(r"mini-swe-agent \(step (\d+), \$([\d.]+)\):$")
_RULE = re.compile("─{20,}$")
_SECTIONS = ("System:", "User:", "Tool:", "Exit:")
_FAILED = ("LimitsExceeded", "TimeExceeded", "RepeatedFormatError")
_SUBMITS = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class MiniSweAgent(CommandLine):
    """Reads the sections that it prints: a step, its results, the end."""

    reads = "text"
    programs = frozenset({"mini", "mini-swe-agent"})
    options = _OPTIONS
    versions_checked = ("2.4.6",)
    gives = (
        "text and commands, wrapped at 80 columns, a command when it has ended or the "
        "output pauses; cost; no thinking; tokens from a side file"
    )

    def __init__(self) -> None:
        self._section = ""
        self._lines: list[str] = []
        self._after_blank = True
        self._step = ""
        self._asked = False
        self._open: list[tuple[str, str]] = []
        self._saved = False

    def feed_text(self, line: str) -> Iterator[Event]:
        """Take a line; a heading or a rule ends the section before it."""
        text = strip_terminal(line).rstrip()
        step = _STEP.match(text)
        heading = self._after_blank and (step or text in _SECTIONS)
        if self._section == "Exit:" and text.startswith("Saved trajectory to"):
            self._saved = True
            yield from self._end()
        elif heading or _RULE.match(text):
            yield from self._end()
            self._section = text if heading else ""
            if step:
                self._section, self._step = "step", step[1]
                if cost := float(step[2]):
                    yield Usage(cost=cost, scope="total")
        elif self._section:
            self._lines.append(text)
        self._after_blank = not text

    def pause(self) -> Iterator[Event]:
        """Give a step whose commands now run."""
        if self._section == "step" and self._lines and self._lines[-1] == "```":
            yield from self._end()

    def close(self) -> Iterator[Event]:
        """Give the last section; an exit that saved nothing was an exception."""
        return self._end()

    def _end(self) -> Iterator[Event]:
        section, text = self._section, "\n".join(self._lines).strip("\n")
        self._section = ""
        self._lines.clear()
        if section == "step":
            yield from self._answer(text)
        elif section == "Tool:":
            yield from self._result(text)
        elif section == "User:":
            if self._asked:  # the first is the task, the others refuse an answer
                yield Notice(" ".join(text.split())[:200])
            self._asked = True
        elif section == "Exit:" and text in _FAILED:
            yield RunFinished(False, f"the agent stopped: {text}", text)
        elif section == "Exit:" and self._saved:
            yield RunFinished(True, reason="Submitted")
        elif section == "Exit:":
            yield RunFinished(False, " ".join(text.split()))

    def _answer(self, text: str) -> Iterator[Event]:
        said, commands = split(text)
        yield TurnStarted(f"step-{self._step}")
        if said:
            yield Message(said, f"step-{self._step}")
        for number, command in enumerate(commands, 1):
            tool_id = f"step-{self._step}-{number}"
            self._open.append((tool_id, command))
            yield ToolStarted(tool_id, "bash", {"command": command})

    def _result(self, text: str) -> Iterator[Event]:
        if not self._open:
            return
        tool_id, command = self._open.pop(0)
        code, _, output = text.removeprefix("<returncode>\n").partition("\n<output>")
        submitted = "action was not executed" in output and _SUBMITS in command
        if submitted:  # it has run, but then there is nothing more to tell the model
            output = ""
        ok = code.strip() == "0" or submitted
        yield ToolFinished(tool_id, output.strip("\n"), ok)

    @classmethod
    def prepare(cls, command: Sequence[str], prompt: str | None) -> Prepared:
        """Leave when done instead of asking; a given prompt is the task."""
        words = list(command)
        found = cls.arguments(words)
        if found.has("--help"):
            return Prepared(words)
        told = found.value("-t", "--task") or None
        asked = told if prompt is None else prompt
        added = []
        if asked is not None and not found.has("--exit-immediately"):
            added.append("--exit-immediately")
        given = ["-t", prompt] if prompt is not None and told is None else []
        words[found.start : found.start] = [*added, *given]
        return Prepared(
            words, prompt=asked, environment={"PYTHONUNBUFFERED": "1"}, added=added
        )

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the trajectory."""
        found = cls.arguments(ran.command)
        return places(ran, found.value("-o", "--output"))

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give the tokens of each call, and the cost."""
        return read(contents)


def split(text: str) -> tuple[str, list[str]]:
    """Split an answer: what is said, and the commands in bare fences at its end."""
    lines = text.split("\n")
    commands: list[str] = []
    end = len(lines)
    while end and lines[end - 1] == "```":
        start = next((at for at in range(end - 2, -1, -1) if lines[at] == "```"), None)
        if start is None:
            break
        commands.insert(0, "\n".join(lines[start + 1 : end - 1]))
        end = start
        while end and not lines[end - 1]:
            end -= 1
    return "\n".join(lines[:end]).strip("\n"), commands
