"""Runs the wrapper that the ssebench package carries. argv: its archive, its `claude`.

Of its SDK it needs the task's name, folder and prompt, which a daemon would tell.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace


def main() -> None:
    folder, claude = sys.argv[1:]
    found = importlib.util.find_spec("ssebench")
    assert found is not None
    assert found.origin is not None
    wrapper = "_data/agents/claude-code/claude-code-sse/main.py"
    sse, project, prompt = map(ModuleType, ("sse", "sse.project", "sse.prompt"))
    told = {"metadata": SimpleNamespace(id="t"), "source": Path(folder)}
    vars(project).update(told)
    vars(prompt)["task_prompt"] = lambda: "measure"
    vars(sse)["project"] = project
    sys.modules.update({"sse": sse, "sse.project": project, "sse.prompt": prompt})
    os.environ.update(
        CLAUDE=claude,
        SSE_ARCHIVE=folder,
        SSE_MODEL_NAME="m",
        SSE_BASE_URL="http://127.0.0.1:1",
        SSE_API_KEY="k",
    )
    runpy.run_path(str(Path(found.origin).parent / wrapper), run_name="__main__")


main()
