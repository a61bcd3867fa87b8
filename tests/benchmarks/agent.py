"""The agent of a measurement: writes a stream to stdout, tells what that cost it.

argv: the stream, a file for its own CPU seconds; with a third word, `paced`, the
first is a number of short lines that carry the time at which they were written.
"""

from __future__ import annotations

import json
import os
import sys
import time


def paced(count: int) -> None:
    init = (
        '{"type":"system","subtype":"init","session_id":"s","model":"m","tools":[]}\n'
    )
    os.write(1, init.encode())
    time.sleep(1)  # until everybody has begun
    for number in range(count):
        time.sleep(0.004)
        text = {"type": "text", "text": f"@{time.monotonic_ns()}@"}
        message = {"id": f"m{number}", "role": "assistant", "content": [text]}
        event = {"type": "assistant", "session_id": "s", "message": message}
        line = json.dumps(event) + "\n"
        os.write(1, line.encode())
    end = '{"type":"result","subtype":"success","is_error":false,"session_id":"s"}\n'
    os.write(1, end.encode())


def main() -> None:
    if sys.argv[3:] == ["paced"]:
        paced(int(sys.argv[1]))
    else:
        source = os.open(sys.argv[1], os.O_RDONLY)
        while chunk := os.read(source, 65536):
            while chunk:
                chunk = chunk[os.write(1, chunk) :]
    spent = os.times()
    with open(sys.argv[2], "w") as out:
        out.write(str(spent.user + spent.system))


main()
