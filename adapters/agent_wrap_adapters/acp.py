"""Agent Client Protocol, version 1: any agent that speaks JSON-RPC over stdio.

We are the client: initialise, open a session, send the prompt, answer what is asked.
The id spaces of the two sides are apart: an agent counts its own requests from 0 too.
"""

from __future__ import annotations

from agent_wrap import Adapter, SideFile, Surroundings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from agent_wrap.events import Event


class Acp(Adapter):
    """Speaks ACP and reads what the agent says in it."""

    two_way = True
    names_agent = True
    versions_checked = (
        "OpenCode 1.18.33",
        "Copilot 1.0.102",
        "Kimi Code 2.1",
        "Mistral Vibe 3.0",
        "Gemini CLI 0.61",
        "Qwen Code 0.24",
    )
    gives = (
        "text, thinking, tools live, model where the agent tells it; tokens of "
        "each answer or of the run where the agent reports them, Kimi Code's from "
        "a side file; turns are answers between tools"
    )

    def __init__(self) -> None:
        from agent_wrap_adapters.acp_client import Client

        self._client = Client()

    def start(self) -> Iterator[Event]:
        """Say hello."""
        return self._client.start(self.brief)

    def feed(self, event: dict[str, Any]) -> Iterator[Event]:
        """Give the facts that one message states."""
        return self._client.feed(event)

    def close(self) -> Iterator[Event]:
        """Give what was still being said."""
        return self._client.flush()

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> Iterator[Event]:
        """Answer a request for permission: the protocol asks nothing else."""
        return self._client.answer(interaction_id, resolution)

    def cancel(self) -> Iterator[Event]:
        """Cancel the prompt: the clean way to stop."""
        return self._client.cancel()

    @classmethod
    def resume(cls, command: Sequence[str], session_id: str) -> Sequence[str]:
        """Go on with a session by the protocol."""
        return command

    @classmethod
    def recognises(cls, event: dict[str, Any]) -> bool:
        """Tell the answer to `initialize`, or an update of a session."""
        result = event.get("result")
        hello = isinstance(result, dict) and "protocolVersion" in result
        return event.get("jsonrpc") == "2.0" and (
            hello or event.get("method") == "session/update"
        )

    @classmethod
    def side_files(cls, ran: Surroundings) -> Sequence[SideFile]:
        """Name the files of Kimi Code, which reports no tokens."""
        from agent_wrap_adapters.kimi_side import places

        return places(ran) if ran.session_id else []

    @classmethod
    def read_side(cls, contents: Sequence[bytes], ran: Surroundings) -> Iterator[Event]:
        """Give the tokens of each step."""
        from agent_wrap_adapters.kimi_side import read

        return read(contents)
