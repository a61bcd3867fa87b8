"""The examples run as they are, and what they leave conforms."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from agent_wrap import validate
from agent_wrap.settings import read

EXAMPLES = Path(__file__).parent.parent / "examples"
PATIENCE = 60.0

TASK_SOURCE = "#!/bin/sh\necho {source}\n"
TASK_PROMPT = "#!/bin/sh\necho 'Fix \"it\", $HOME included.'\n"
FAKE_AGENT = """\
#!/bin/sh
echo "$ANTHROPIC_BASE_URL $ANTHROPIC_API_KEY" >&2
pwd >&2
asked=$(cat)
echo '{"type":"system","subtype":"init","session_id":"s","cwd":"/","tools":[],\
"model":"m","claude_code_version":"0"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":0,\
"result":"","session_id":"s"}'
exit 3
"""


def environment(**variables: object) -> dict[str, str]:
    """Give ours without what would steer a run, and these."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SSE_", "AGENT_"))}
    folder = os.path.dirname(sys.executable)
    path = {"PATH": f"{folder}{os.pathsep}{kept.get('PATH', '')}"}
    return {**kept, **path, **{k: str(v) for k, v in variables.items()}}


def run(*command: object, **variables: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def entries_in(archive: Path) -> list[dict[str, Any]]:
    data = (archive / "dialog.jsonl").read_bytes()
    assert not validate.check(data)
    return [json.loads(line) for line in data.splitlines()]


def last_line(name: str) -> list[str]:
    """Give the words of a Dockerfile's CMD."""
    found = re.search(r"^CMD (\[.*\])$", (EXAMPLES / name).read_text(), re.M)
    assert found is not None
    words = json.loads(found[1])
    assert all(isinstance(word, str) for word in words)
    return list(words)


def test_the_agent_writes_its_dialog_by_itself(tmp_path: Path) -> None:
    done = run(sys.executable, EXAMPLES / "my_agent.py", SSE_ARCHIVE=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    check_my_agent(entries_in(tmp_path))


def test_the_agent_writes_the_same_under_the_wrapper(tmp_path: Path) -> None:
    agent = (sys.executable, EXAMPLES / "my_agent.py")
    done = run(sys.executable, "-m", "agent_wrap", "--", *agent, SSE_ARCHIVE=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    check_my_agent(entries_in(tmp_path))


def check_my_agent(entries: list[dict[str, Any]]) -> None:
    tools = [e["status"] for e in entries if e["type"] == "tool"]
    assert tools == ["running", "success", "running", "error"]
    assert entries[-1]["status"] == "success"
    assert entries[-1]["total_tokens"] == {"in": 1265, "out": 70}


def test_runs_from_python(tmp_path: Path) -> None:
    done = run(sys.executable, EXAMPLES / "run_from_python.py", TMPDIR=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout.splitlines()
    assert told[0] == "run: success, exit code 0, 3 turns"
    assert "arun: 2 of 2 succeeded" in told
    assert told[-1] == "open_run: success"
    assert told.count("open_run: a tool failed") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_configuration_file_is_one() -> None:
    path = EXAMPLES / "agent-wrap.toml"
    table = tomllib.loads(path.read_text())
    settings = read(["--config", str(path)], {})
    assert list(settings.command) == table["command"]
    assert settings.prompt == table["prompt"]
    assert (settings.timeout, settings.max_turns) == (1800, 80)


def test_the_slim_images_command_names_its_own_agent() -> None:
    text = (EXAMPLES / "Dockerfile.python-slim").read_text()
    assert 'ENTRYPOINT ["agent-wrap", "--"]' in text
    assert f"COPY examples/my_agent.py {last_line('Dockerfile.python-slim')[1]}" in text


def test_the_image_without_python_builds_what_it_copies(tmp_path: Path) -> None:
    text = (EXAMPLES / "Dockerfile.distroless").read_text()
    built = re.search(r"^RUN python3 /src/(\S+) (\S+)$", text, re.M)
    assert built is not None
    assert (EXAMPLES.parent / built[1]).exists()
    assert f"COPY --from=build {built[2]} /usr/local/bin/agent-wrap" in text
    agent = last_line("Dockerfile.distroless")
    done = run(sys.executable, "-m", "agent_wrap", "--", *agent, SSE_ARCHIVE=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert entries_in(tmp_path)[-1]["status"] == "success"


def test_the_image_without_python_owns_its_archive() -> None:
    text = (EXAMPLES / "Dockerfile.distroless").read_text()
    user = re.search(r"^USER (\S+)$", text, re.M)
    assert user is not None
    assert f"COPY --from=build --chown={user[1]} /empty /archive\n" in text
    assert "mkdir -p out\n" in text
    assert '--user "$(id -u):$(id -g)"' in text


def test_no_image_is_built_from_what_git_ignores() -> None:
    root = EXAMPLES.parent
    told = (root / ".dockerignore").read_text().splitlines()
    kept_out = {line.removeprefix("**/") for line in told}
    ignored = (root / ".gitignore").read_text().splitlines()
    assert {".git", *(line.strip("/") for line in ignored)} <= kept_out


def test_the_benchs_image_survives_the_loss_of_its_quotes(tmp_path: Path) -> None:
    """The words of CMD joined with blanks, for bash, as SSEBench runs them."""
    archive, source, programs = tmp_path / "a", tmp_path / "src", tmp_path / "bin"
    source.mkdir()
    programs.mkdir()
    for name, text in (
        ("task-source", TASK_SOURCE.format(source=source)),
        ("task-prompt", TASK_PROMPT),
        ("claude", FAKE_AGENT),
        ("agent-wrap", f'#!/bin/sh\nexec {sys.executable} -m agent_wrap "$@"\n'),
    ):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    done = run(
        *("bash", "-c", " ".join(last_line("Dockerfile.ssebench"))),
        PATH=f"{programs}{os.pathsep}{environment()['PATH']}",
        SSE_ARCHIVE=archive,
        SSE_MODEL_NAME="a-model",
        SSE_BASE_URL="http://model.invalid",
        SSE_API_KEY="key-1",
        SSE_DAEMON_SOCKET=tmp_path / "absent.sock",
        TIMEOUT="3600",
    )
    entries = entries_in(archive)
    assert done.returncode == 3  # the agent's own, which the bench reads
    assert entries[0]["data"]["model"] == "a-model"
    assert entries[0]["data"]["cwd"] == str(source)
    assert entries[1]["content"] == 'Fix "it", $HOME included.\n'
    assert entries[-1]["status"] == "success"
    told = (archive / "stderr.log").read_text().split("\n")
    assert told[:2] == ["http://model.invalid key-1", str(source)]
    assert list(source.iterdir()) == []
