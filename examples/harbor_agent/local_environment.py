"""A Harbor environment that is a folder: no container, for trying an agent out.

Commands run on this machine, as this user, with the container's paths (`/logs`, `/app`
and so on) replaced by folders of the trial, in scripts that are copied in as well. It
isolates nothing.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from pathlib import Path

from harbor.environments.base import BaseEnvironment, ExecResult

PLACES = re.compile(r"(?<![\w./])/(logs|tests|solution|app|installed-agent)\b")


class LocalEnvironment(BaseEnvironment):
    """Keeps what a container would in `root/` of the trial's folder."""

    @staticmethod
    def type() -> str:
        return "local"

    def _validate_definition(self) -> None:
        self._root = self.trial_paths.trial_dir.resolve() / "root"

    def _here(self, text: str) -> str:
        return PLACES.sub(lambda found: f"{self._root}{found[0]}", text)

    async def start(self, force_build: bool) -> None:
        for name in ("logs/agent", "logs/verifier", "logs/artifacts", "app"):
            (self._root / name).mkdir(parents=True, exist_ok=True)

    async def stop(self, delete: bool) -> None:
        if delete:
            shutil.rmtree(self._root, ignore_errors=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Run a command by bash, as a container would."""
        given = {**self._persistent_env, **(env or {})}
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", self._here(command)),
            cwd=self._here(cwd or "/app"),
            env={**os.environ, **{k: self._here(v) for k, v in given.items()}},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            out, err = await asyncio.wait_for(process.communicate(), timeout_sec)
        finally:
            if process.returncode is None:
                process.terminate()  # agent-wrap ends what runs below it
                await process.wait()
        return ExecResult(
            stdout=out.decode(errors="replace"),
            stderr=err.decode(errors="replace"),
            return_code=process.returncode or 0,
        )

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        target = Path(self._here(target_path))
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        shutil.copytree(
            source_dir,
            self._here(target_dir),
            copy_function=self._copy,
            dirs_exist_ok=True,
        )

    def _copy(self, source: str, target: str) -> None:
        shutil.copy2(source, target)
        if source.endswith(".sh"):
            script = Path(target)
            script.write_text(self._here(script.read_text()))

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        shutil.copy2(self._here(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        shutil.copytree(self._here(source_dir), target_dir, dirs_exist_ok=True)
