"""Reads an agent by claude-agent-sdk. argv: where to write, its `claude`.

A short line for each message is less than a dialog's entry: to the SDK's favour.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TextIO

from claude_agent_sdk import ClaudeAgentOptions, query


async def read(claude: str, out: TextIO) -> None:
    options = ClaudeAgentOptions(
        cli_path=claude, include_partial_messages=True, max_buffer_size=1 << 26
    )
    async for message in query(prompt="measure", options=options):
        out.write(f'{{"type":"{type(message).__name__}"}}\n')
        out.flush()


folder, program = sys.argv[1:]
with Path(folder, "dialog.jsonl").open("w") as dialog:
    asyncio.run(read(program, dialog))
