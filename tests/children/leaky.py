"""Says a secret of its environment in every way that agents have.

leaky.py NAME: plain, split across writes, escaped, encoded, on stderr, in a tool.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import time
from urllib.parse import quote

secret = os.environ[sys.argv[1]]


def say(text: str, fd: int = 1) -> None:
    os.write(fd, text.encode())


def event(kind: str, *content: object) -> str:
    message = {"id": "m1", "role": kind, "model": "m", "content": content}
    return json.dumps({"type": kind, "message": message})


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


say('{"type":"system","subtype":"init","session_id":"s-1","model":"m"}\n')
# In three writes, seen one by one.
line = event("assistant", text(f"split {secret} end"))
at = line.index("split ") + 10
for part in (line[:at], line[at : at + 3], line[at + 3 :]):
    say(part)
    time.sleep(0.03)
say("\n")
units = secret.encode("utf-16-be").hex()
unusual = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
say(event("assistant", text("escaped <>")).replace("<>", unusual) + "\n")
for before in ("", "a", "ab"):
    coded = base64.b64encode((before + secret + "tail").encode()).decode()
    say(event("assistant", text(f"coded {coded}")) + "\n")
say(event("assistant", text(f"url {quote(secret)} {quote(secret, safe='')}")) + "\n")
inside = json.dumps({"header": f"Bearer {secret}"})
use = {"type": "tool_use", "id": f"id-{secret}", "name": "Bash"}
say(event("assistant", {**use, "input": {"command": secret, "body": inside}}) + "\n")
result = {"type": "tool_result", "tool_use_id": f"id-{secret}", "content": secret}
say(event("user", result) + "\n")
say(f"{secret}\n", 2)
say(f"no json: {secret}\n")
end = {"type": "result", "subtype": "error_during_execution", "is_error": True}
say(json.dumps({**end, "result": f"failed with {secret}", "session_id": secret}) + "\n")
sys.exit(1)
