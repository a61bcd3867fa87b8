"""The limit: a bare loop that reads a line, decodes it, writes an entry of its size.

The entry is what a dialog may hold: ASCII, by the encoder that is fastest at it.
argv: the file for the entries, then the agent's command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import orjson

encode = json.JSONEncoder(separators=(",", ":")).encode


def main() -> None:
    out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    with subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE) as agent:
        assert agent.stdout is not None
        for line in agent.stdout:
            value = orjson.loads(line)
            if line.isascii():
                os.write(out, orjson.dumps(value) + b"\n")
            else:
                os.write(out, encode(value).encode() + b"\n")


main()
