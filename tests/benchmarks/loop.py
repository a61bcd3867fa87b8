"""The limit: a bare loop that reads a line, decodes it, writes an entry of its size.

argv: the file for the entries, then the agent's command.
"""

from __future__ import annotations

import os
import subprocess
import sys

import orjson


def main() -> None:
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        for line in agent.stdout:
            os.write(out, orjson.dumps(orjson.loads(line)) + b"\n")


main()
