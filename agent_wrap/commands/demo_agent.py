"""The demo's agent: works through a script with real commands, prints its dialog."""

from __future__ import annotations

import subprocess
import sys
import time

from agent_wrap.dialog_writer import DialogWriter

TEST = "print('1 failed: add(2, 2) == 5')"
FIXED = "print('1 passed')"


def main() -> None:
    """Print the entries of a short session, at the pace of a person reading."""
    with DialogWriter() as dialog:
        dialog.init("demo", ".", "scripted", "demo")
        dialog.thinking("First I look at what fails.")
        _pause()
        dialog.message("I run the tests first.", input_tokens=812, output_tokens=24)
        _run(dialog, "call-1", [sys.executable, "-c", TEST])
        dialog.message("`add` is off by one.", input_tokens=1033, output_tokens=41)
        _run(dialog, "call-2", [sys.executable, "-c", FIXED])
        dialog.message("All tests pass now.", input_tokens=1151, output_tokens=18)
        dialog.complete("success")


def _run(dialog: DialogWriter, tool_id: str, command: list[str]) -> None:
    dialog.tool_start(tool_id, "bash", {"command": f"python -c {command[-1]!r}"})
    _pause()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    dialog.tool_result(tool_id, result=done.stdout)
    _pause()


def _pause() -> None:
    time.sleep(0.3)


if __name__ == "__main__":
    main()
