"""Makes the pictures of the documents: real runs of Claude Code, a scripted model.

    .venv/bin/python docs/pictures/make.py    # in the development environment

Needs `claude` on PATH (npm install @anthropic-ai/claude-code) and Chromium. No network:
the model is that of the live tests. What it answers is below; what its commands print,
how long they take and what they use is real.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from agent_wrap import cli  # noqa: E402  # once the checkout is on the path
from agent_wrap.view import show  # noqa: E402
from tests.live.scenarios import (  # noqa: E402
    SCENARIOS,
    Block,
    Scenario,
    Shell,
    Text,
)
from tests.live.scripted_model import Model  # noqa: E402

PLACE = Path("/tmp/tour")
PROMPT = "The tests of stack.py fail. Find out why, and fix it."
FILES = {
    "stack.py": """class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop(0)
""",
    "test_stack.py": """import unittest

from stack import Stack


class StackTest(unittest.TestCase):
    def test_last_in_first_out(self):
        stack = Stack()
        stack.push(1)
        stack.push(2)
        self.assertEqual(stack.pop(), 2)
""",
}
TEST = "python3 -m unittest 2>&1 | tail -8"
FIX = "sed -i 's/pop(0)/pop()/' stack.py && git diff"
START: tuple[tuple[Block, ...], ...] = (
    (Text("I run the tests to see what fails."), Shell(TEST)),
    (
        Text("`pop` should give the item that came last. I look at both files."),
        Shell("cat stack.py"),
        Shell("sleep 0.7; grep -n assert test_stack.py"),
    ),
)
FIXED = Scenario(
    replies=(
        *START,
        (Text("`items.pop(0)` takes the first item. I take the last one."), Shell(FIX)),
        (Text("Now the tests again."), Shell(TEST)),
        (Text("Fixed: `Stack.pop` gives the last item. All tests pass."),),
    )
)
LIMITED = Scenario(
    replies=(
        *START,
        (Text("Perhaps a newer Python helps."), Shell("python4 -m unittest")),
        (Text("Now with all of the output."), Shell("python3 -m unittest -v")),
        (Text("I look at the class once more."), Shell("cat stack.py")),
    )
)


def run(scenario: str, *options: str) -> None:
    """Run Claude Code under agent-wrap on the files; its archive is the scenario's."""
    home, work = (PLACE / "made" / scenario / name for name in ("home", "stack"))
    home.mkdir(parents=True)
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "Start"]):
        subprocess.run([*git, *words], cwd=work, check=True)
    with Model() as model:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "ANTHROPIC_API_KEY": "none",
            "ANTHROPIC_BASE_URL": model.url(scenario),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "IS_SANDBOX": "1",
        }
        command = [
            *(sys.executable, "-m", "agent_wrap", "--archive", str(PLACE / scenario)),
            *("--task", "stack-1", "--echo", "none", *options),
            *("--", "claude", "-p", PROMPT, "--model", "claude-sonnet-4-5"),
            "--dangerously-skip-permissions",
        ]
        environment["PYTHONPATH"] = str(ROOT)
        subprocess.run(command, cwd=work, env=environment, check=False)


def terminal(name: str, width: int, *words: str) -> None:
    """Save what a command of ours shows on a terminal; no font is asked for."""
    console = Console(
        record=True,
        width=width,
        file=StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
        markup=False,
        emoji=False,
    )
    show.console = lambda: console
    cli.main(list(words))
    look = re.sub(r"@font-face \{\{.*?\n    \}\}\n", "", CONSOLE_SVG_FORMAT, flags=re.S)
    text = console.export_svg(
        title=" ".join(("agent-wrap", *words)),
        theme=MONOKAI,
        code_format=look,
        unique_id=name,
    )
    (HERE / f"{name}.svg").write_text(text)


def main() -> None:
    """Make all pictures."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not browser or not shutil.which("claude"):
        sys.exit("claude and chromium must be on PATH")
    SCENARIOS.update(fixed=FIXED, limited=LIMITED)
    PLACE.mkdir()
    try:
        os.chdir(PLACE)
        run("fixed")
        run("limited", "--max-turns", "4")
        make(browser)
    finally:
        shutil.rmtree(PLACE)


def make(browser: str) -> None:
    """Make the pictures of the two runs."""
    terminal("view", 96, "view", "fixed")
    terminal("compare", 120, "view", "limited", "fixed")
    terminal("folder", 110, "view", ".")
    cli.main(["convert", "--to", "svg", "fixed", "-o", str(HERE / "run.svg")])
    cli.main(["convert", "--to", "html", "fixed", "-o", "page.html"])
    look = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    size = ["--window-size=1060,840", f"--screenshot={HERE / 'page.png'}"]
    words = [browser, *look, *size, f"file://{PLACE}/page.html"]
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
