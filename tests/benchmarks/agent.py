"""The agent of a measurement: writes a stream to stdout, tells what that cost it.

argv: the stream, a file for its own CPU seconds; with a third word, `paced`, the
first is a number of short lines that carry the time at which they were written. Where
it is called as `claude` would be, these words are in `BENCHMARK_AGENT`.
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


def greet() -> None:
    """Answer what the SDK asks first, and wait for its message."""
    asked = json.loads(sys.stdin.readline())
    answer = {"subtype": "success", "request_id": asked["request_id"], "response": {}}
    line = json.dumps({"type": "control_response", "response": answer}) + "\n"
    os.write(1, line.encode())
    sys.stdin.readline()


def main() -> None:
    words = sys.argv[1:]
    if "BENCHMARK_AGENT" in os.environ:
        if sys.argv[1] in ("mcp", "-v", "--version"):
            print("2.1.197 (Claude Code)")
            return
        if "--input-format" in sys.argv:
            greet()
        words = json.loads(os.environ["BENCHMARK_AGENT"])
    stream, spent_in, *paced_too = words
    if paced_too:
        paced(int(stream))
    else:
        source = os.open(stream, os.O_RDONLY)
        while chunk := os.read(source, 65536):
            while chunk:
                chunk = chunk[os.write(1, chunk) :]
    with open(spent_in, "w") as out:
        out.write(str(time.process_time()))  # `os.times` counts in 10 ms


main()
