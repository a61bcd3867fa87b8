"""A Harbor agent: any command-line agent, run by agent-wrap in the task's container.

Harbor needs Python 3.12 or newer. The task beside this file, with a folder in place of
a container, from the repository's root:

    python3.12 -m venv .venv-harbor && .venv-harbor/bin/pip install . harbor && \
    PATH=$PWD/.venv-harbor/bin:$PATH PYTHONPATH=examples harbor run -y \
      -p examples/harbor_agent/task -e harbor_agent.local_environment:LocalEnvironment \
      -a harbor_agent.agent:AgentWrap \
      --ak 'command=sh -c "echo Done; echo hello > hello.txt"'

In real containers: without `-e`, and with `--ak executable=FILE`, the single-file build
(docs/harnesses.md), which needs nothing in the image; or agent-wrap is in the image.
A trial's `agent/` then holds the archive and `trajectory.json` (ATIF).
"""

from __future__ import annotations

import json
import shlex
import tempfile
from pathlib import Path

from harbor.agents.capabilities import AgentCapabilities
from harbor.agents.installed.base import BaseInstalledAgent, with_prompt_template
from harbor.agents.options import InstalledAgentOptions
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext
from pydantic import Field

HOME = "/installed-agent"


class Options(InstalledAgentOptions):
    """What `--ak NAME=VALUE` takes, beside Harbor's own."""

    command: str = Field(
        description="The agent's command, with {prompt} if it takes it."
    )
    flags: str = Field(default="", description="Options of agent-wrap.")
    executable: Path | None = Field(
        default=None, description="A single-file build to copy in; else it is on PATH."
    )


class AgentWrap(BaseInstalledAgent):
    """Runs a command, and tells Harbor what its dialog's summary says."""

    capabilities = AgentCapabilities(atif=True)
    options_model = Options
    options: Options

    @staticmethod
    def name() -> str:
        return "agent-wrap"

    @property
    def _program(self) -> str:
        return "agent-wrap" if self.options.executable is None else f"{HOME}/agent-wrap"

    def get_version_command(self) -> str:
        return f"{self._program} --version"

    def parse_version(self, stdout: str) -> str:
        return stdout.split()[-1]

    async def install(self, environment: BaseEnvironment) -> None:
        """Copy the single file in, if there is one."""
        if self.options.executable is not None:
            await environment.upload_file(self.options.executable, self._program)
            await self.exec_as_root(environment, f"chmod 755 {self._program}")

    @with_prompt_template
    async def run(
        self, instruction: str, environment: BaseEnvironment, context: AgentContext
    ) -> None:
        """Run the agent; its exit code is Harbor's to judge."""
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            file.write(instruction)
            file.flush()
            await environment.upload_file(file.name, f"{HOME}/prompt.md")
        archive = str(self.environment_logs_dir)
        model = f"--model {shlex.quote(self.model_name)}" if self.model_name else ""
        try:
            await self.exec_as_agent(
                environment,
                f"{self._program} --archive {archive} --prompt-file {HOME}/prompt.md "
                f"{model} {self.options.flags} -- {self.options.command}",
            )
        finally:
            convert = f"convert --to atif -o {archive}/trajectory.json {archive}"
            await self.exec_as_agent(environment, f"{self._program} {convert}")

    def populate_context_post_run(self, context: AgentContext) -> None:
        """Take tokens and cost from the summary; it is there whatever happened."""
        summary = json.loads((self.logs_dir / "summary.json").read_bytes())
        tokens = summary["tokens"]
        context.n_input_tokens = tokens["in"]
        context.n_cache_tokens = tokens["cached"]
        context.n_output_tokens = tokens["out"]
        context.cost_usd = summary["cost_usd"]
        wanted = ("status", "reason", "message", "exit_code", "turns", "tools", "notes")
        context.metadata = {key: summary[key] for key in wanted}
