"""The examples for harnesses and clusters, under those frameworks' own runners.

Each framework is looked for on PATH, for it wants a venv of its own; without it its
tests are skipped. How to run them all: docs/harnesses.md.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_wrap.settings import read
from agent_wrap.validate import check

from .harness import Run, scripted

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
JOB = EXAMPLES / "kubernetes-job.yaml"
PATIENCE = 240.0

HELLO = "sh -c 'echo Done; echo hello > hello.txt'"
FAILS = "sh -c 'echo No; exit 3'"


def needs(program: str, package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        shutil.which(program) is None,
        reason=f"{package} is not on PATH (docs/harnesses.md)",
    )


def run(*words: object, **variables: object) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SSE_", "AGENT_"))}
    return subprocess.run(
        list(map(str, words)),
        cwd=ROOT,
        env={**kept, **{k: str(v) for k, v in variables.items()}},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def command_of(name: str, first: str) -> list[str]:
    """Give the command at the head of an example, from its first word on."""
    text = (EXAMPLES / name).read_text().split('"""')[1].replace("\\\n", " ")
    found = re.search(rf"\b{first} .*", text)
    assert found is not None
    return found[0].split()


# Harbor


def harbor(folder: Path, command: str) -> tuple[Path, dict[str, Any]]:
    """Run the command at the example's head, on another agent; give the trial."""
    words = command_of("harbor_agent/agent.py", "harbor run")
    words = [*words[: words.index("--ak")], "-o", str(folder)]
    done = run(
        *words,
        "--ak",
        f"command={command}",
        PYTHONPATH=EXAMPLES,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    )
    trials = list(folder.glob("*/*/result.json"))
    assert len(trials) == 1, done.stdout + done.stderr
    return trials[0].parent, json.loads(trials[0].read_text())


@needs("harbor", "harbor")
def test_harbor_runs_the_agent_and_grades_what_it_did(tmp_path: Path) -> None:
    trial, result = harbor(tmp_path, HELLO)
    assert result["exception_info"] is None
    assert result["verifier_result"]["rewards"] == {"reward": 1.0}
    assert result["agent_info"]["version"] == "0.1.0"
    assert result["agent_result"]["metadata"]["status"] == "success"
    assert not check((trial / "agent" / "dialog.jsonl").read_bytes())
    trajectory = json.loads((trial / "agent" / "trajectory.json").read_text())
    assert [step["message"] for step in trajectory["steps"]][-1] == "Done"


@needs("harbor", "harbor")
def test_harbor_is_told_what_an_agent_used_and_that_it_failed(tmp_path: Path) -> None:
    agent = f"{sys.executable} {EXAMPLES / 'my_agent.py'}; exit 3"
    _, result = harbor(tmp_path, f'sh -c "{agent}"')
    assert result["verifier_result"]["rewards"] == {"reward": 0.0}
    assert result["exception_info"]["exception_type"] == "NonZeroAgentExitCodeError"
    told = result["agent_result"]
    assert (told["n_input_tokens"], told["n_output_tokens"]) == (1265, 70)
    assert told["metadata"]["exit_code"] == 3


# Inspect AI


def inspect(folder: Path, *options: str) -> dict[str, Any]:
    words = command_of("inspect_solver.py", "inspect eval")
    log = ["--log-dir", str(folder), "--log-format", "json"]
    done = run(*words, *log, *options)
    logs = list(folder.glob("*.json"))
    assert len(logs) == 1, done.stdout + done.stderr
    return dict(json.loads(logs[0].read_text()))


@needs("inspect", "inspect-ai")
def test_inspect_scores_what_the_agent_left(tmp_path: Path) -> None:
    log = inspect(tmp_path)
    assert log["status"] == "success", log.get("error")
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == 1
    sample = log["samples"][0]
    assert sample["output"]["choices"][0]["message"]["content"] == "Done"
    assert sample["metadata"]["agent_wrap"]["status"] == "success"


@needs("inspect", "inspect-ai")
def test_inspect_has_the_dialog_as_messages(tmp_path: Path) -> None:
    agent = [sys.executable, str(EXAMPLES / "my_agent.py")]
    log = inspect(tmp_path, "-T", f"command={json.dumps(agent)}")
    assert log["status"] == "success", log.get("error")
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == 0
    sample = log["samples"][0]
    roles = [message["role"] for message in sample["messages"]]
    assert roles[0] == "user"
    assert roles.count("tool") == 2
    failed = [message for message in sample["messages"] if message.get("error")]
    assert "ZeroDivisionError" in failed[0]["error"]["message"]
    assert sample["output"]["usage"]["output_tokens"] == 70


# Ray


@pytest.mark.skipif(
    "AGENT_WRAP_RAY" not in os.environ,
    reason="AGENT_WRAP_RAY=PYTHON runs it, one that has ray (docs/harnesses.md)",
)
def test_ray_runs_them_all_though_a_worker_is_killed(tmp_path: Path) -> None:
    words = command_of("ray_fan_out.py", r"examples/ray_fan_out\.py")[0]
    out = tmp_path / "out"
    options = ["--out", out, "--tasks", "8", "--lose-a-worker"]
    done = run(os.environ["AGENT_WRAP_RAY"], words, *options, AGENT_SECONDS=8)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 of 8 succeeded" in done.stdout
    lost = re.search(r"the worker of (task-\d+) was killed", done.stdout)
    assert lost is not None
    for dialog in out.glob("*/*/dialog.jsonl"):
        assert not check(dialog.read_bytes()), dialog
    first = json.loads((out / lost[1] / "attempt-1" / "summary.json").read_bytes())
    assert first["message"] == "the program that called agent-wrap has ended"
    again = json.loads((out / lost[1] / "attempt-2" / "summary.json").read_bytes())
    assert again["status"] == "success"
    failed = json.loads((out / "task-007" / "attempt-1" / "summary.json").read_bytes())
    assert failed["agent_exit"]["code"] == 75


# Kubernetes


def arguments(**variables: str) -> list[str]:
    """Give the words that the Job's container gets, its variables expanded."""
    text = JOB.read_text().partition("          args:\n")[2]
    found = re.match(r"(?: +- .*\n)+", text)
    assert found is not None
    words = re.findall(r"- (.*)", found[0])
    return [re.sub(r"\$\((\w+)\)", lambda name: variables[name[1]], w) for w in words]


@needs("kubernetes-validate", "kubernetes-validate")
def test_the_job_fits_the_schema(tmp_path: Path) -> None:
    done = run("kubernetes-validate", "--strict", JOB)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(JOB.read_text().replace("runAsNonRoot", "runAsNotRoot"))
    assert run("kubernetes-validate", "--strict", wrong).returncode != 0


def test_the_jobs_grace_period_is_above_the_wrappers_own() -> None:
    words = arguments(JOB_COMPLETION_INDEX="7", POD_NAME="agents-7-x")
    settings = read(words, {})
    assert settings.archive == "/archives/7/agents-7-x"
    assert settings.command[0] == "my-agent"
    found = re.search(r"terminationGracePeriodSeconds: (\d+)", JOB.read_text())
    assert found is not None
    ours = settings.kill_grace + settings.drain_grace + 5  # sweep, write, exit
    assert int(found[1]) >= 1.5 * ours
    limit = re.search(r"activeDeadlineSeconds: (\d+)", JOB.read_text())
    assert limit is not None
    assert settings.timeout is not None
    assert int(limit[1]) > 3 * (settings.timeout + int(found[1]))


@pytest.mark.parametrize("stubborn", [False, True])
def test_the_jobs_arguments_end_in_time(tmp_path: Path, stubborn: bool) -> None:
    """SIGTERM, as the kubelet sends it, to one that obeys and one that does not."""
    words = arguments(JOB_COMPLETION_INDEX="7", POD_NAME="agents-7-x")
    options = words[: words.index("--")]
    options = [word for word in options if not word.startswith("--archive")]
    grace = next(word for word in options if word.startswith("--kill-grace="))
    options[options.index(grace)] = "--kill-grace=0.5"
    steps = ["init", "text=Hi", "sleep=60"]
    agent = scripted(*(["ignore=SIGTERM"] if stubborn else []), *steps)
    with Run(tmp_path, agent, *options, "--adapter", "claude-code") as started:
        started.until_message("Hi")
        assert started.stop(signal.SIGTERM) == 128 + signal.SIGTERM
        assert started.problems() == []
        assert started.complete["status"] == "error"


READ_ONLY = """\
mount --make-rprivate / && mkdir "$0" && mount --bind "$0" "$0" &&
mount -o remount,ro,bind / && exec setpriv --no-new-privs --bounding-set=-all "$@"
"""


def may_mount() -> bool:
    words = ["unshare", "--mount", "mount", "--make-rprivate", "/"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="no right to mount")
def test_the_jobs_container_needs_no_writable_root(tmp_path: Path) -> None:
    """Without capabilities, the archive the only place that can be written to."""
    archive = tmp_path / "archive"
    under = ("unshare", "--mount", "sh", "-c", READ_ONLY, str(archive))
    agent = ["sh", "-c", "touch /tmp/no || echo read-only"]
    with Run(tmp_path, agent, archive=archive, under=under) as started:
        started.end()
        assert started.code == 0
        assert started.messages == ["read-only"]
