"""The agent's stdin: what is sent, what is answered, when it ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from agent_wrap import talk as talk_module
from agent_wrap.events import (
    ApprovalAsked,
    ElicitationAsked,
    Event,
    InteractionResolved,
    QuestionAsked,
    RunFinished,
    Send,
    SubagentUpdated,
    TurnStarted,
)
from agent_wrap.story import Story
from agent_wrap.talk import Talk

OK = RunFinished(True)
RUNS = SubagentUpdated("b", "running")
RAN = SubagentUpdated("b", "completed")


class Line:
    """A talk over a pipe, and what it did."""

    def __init__(
        self, policy: str = "deny", *, two_way: bool = True, ask_timeout: float = 600.0
    ) -> None:
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        self.story = Story()
        self.answers: list[tuple[str, str]] = []
        self.contents: list[Mapping[str, Any] | None] = []
        self.failed: list[str] = []
        self.talk = Talk(
            self.writing,
            two_way=two_way,
            policy=policy,
            story=self.story,
            answer=self.answer,
            fail=self.failed.append,
            ask_timeout=ask_timeout,
        )

    def answer(
        self,
        interaction_id: str,
        resolution: str,
        content: Mapping[str, Any] | None = None,
    ) -> None:
        """As an adapter does: what is decided is sent, and told."""
        self.answers.append((interaction_id, resolution))
        self.tell(Send(f"<{interaction_id} {resolution}>".encode()))
        self.contents.append(content)

    def tell(self, *events: Event) -> None:
        """As a recorder does: the story first, then who watches."""
        for event in events:
            self.story.apply(event)
            self.talk.watch(event, [])

    def read(self) -> bytes | None:
        """Give what has come, None at the end of the input."""
        try:
            return os.read(self.reading, 1 << 20) or None
        except BlockingIOError:
            return b""

    @property
    def open(self) -> bool:
        return self.read() is not None

    @asynccontextmanager
    async def running(self) -> Any:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.talk.run)
            yield
            tasks.cancel_scope.cancel()

    async def whole(self) -> bytes:
        """Give all that is sent, to the end of the input."""
        said = b""
        with anyio.fail_after(10):
            async with self.running():
                while (part := self.read()) is not None:
                    said += part
                    await anyio.sleep(0.001)
        return said


@pytest.fixture
def line() -> Iterator[Callable[..., Line]]:
    made: list[Line] = []

    def make(*words: Any, **options: Any) -> Line:
        made.append(Line(*words, **options))
        return made[-1]

    yield make
    for each in made:
        os.close(each.reading)


async def still_open(each: Line) -> bool:
    """Give the talk some turns, and see whether the input is open then."""
    for _ in range(20):
        await anyio.sleep(0.001)
    return each.open


class TestSending:
    async def test_in_order(self, line: Callable[..., Line]) -> None:
        each = line()
        each.tell(Send(b"1"), Send(b"2"))
        each.talk.send(b"3")
        each.tell(Send(b"4"), OK)
        assert await each.whole() == b"1234"

    async def test_more_than_the_pipe_holds(self, line: Callable[..., Line]) -> None:
        each = line()
        fcntl.fcntl(each.writing, fcntl.F_SETPIPE_SZ, 4096)
        large = bytes(range(256)) * 4096
        each.tell(Send(large), Send(b"end"), OK)
        assert await each.whole() == large + b"end"

    async def test_a_prompt_to_an_agent_that_is_not_spoken_to(
        self, line: Callable[..., Line]
    ) -> None:
        """It reads to the end: nothing but its prompt comes, and that end at once."""
        each = line(two_way=False)
        each.talk.send(b"prompt")
        each.tell(Send(b"hello"), ApprovalAsked("a", "Bash"))
        assert await each.whole() == b"prompt"
        assert each.answers == []

    async def test_nobody_reads(self, line: Callable[..., Line]) -> None:
        """A full pipe holds up nobody, and can be cancelled."""
        each = line()
        fcntl.fcntl(each.writing, fcntl.F_SETPIPE_SZ, 4096)
        each.tell(Send(b"x" * 100_000), OK)
        with anyio.fail_after(10):
            async with each.running():
                await anyio.sleep(0.01)

    async def test_nobody_can_read(self, line: Callable[..., Line]) -> None:
        """The agent closed its stdin: no error of ours."""
        each = line()
        os.close(each.reading)
        each.tell(Send(b"x"), Send(b"y"))
        with anyio.fail_after(10):
            await each.talk.run()
        each.reading = os.open(os.devnull, os.O_RDONLY)


class TestAnswering:
    @pytest.mark.parametrize(
        ("policy", "resolution"), [("allow", "approved"), ("deny", "denied")]
    )
    async def test_permissions_by_policy(
        self, line: Callable[..., Line], policy: str, resolution: str
    ) -> None:
        each = line(policy)
        each.tell(ApprovalAsked("a", "Bash"), ApprovalAsked("b", "Write"), OK)
        sent = await each.whole()
        assert sent.decode() == f"<a {resolution}><b {resolution}>"
        assert each.failed == []

    @pytest.mark.parametrize("policy", ["allow", "deny", "fail"])
    async def test_nobody_is_there_for_questions(
        self, line: Callable[..., Line], policy: str
    ) -> None:
        each = line(policy)
        each.tell(QuestionAsked("q"), ElicitationAsked("e", "server", "m"), OK)
        assert await each.whole() == b"<q cancelled><e cancelled>"
        assert each.failed == []

    async def test_fail(self, line: Callable[..., Line]) -> None:
        each = line("fail")
        each.tell(ApprovalAsked("a", "Bash"), OK)
        assert await each.whole() == b""
        assert (each.failed, each.answers) == (["Bash"], [])

    async def test_fail_though_nobody_reads(self, line: Callable[..., Line]) -> None:
        """An agent that closed its stdin asks all the same."""
        each = line("fail")
        os.close(each.reading)
        each.tell(Send(b"x"))
        await each.talk.run()
        each.tell(ApprovalAsked("a", "Bash"))
        assert each.failed == ["Bash"]
        each.reading = os.open(os.devnull, os.O_RDONLY)

    async def test_answers_come_after_what_was_sent_before(
        self, line: Callable[..., Line]
    ) -> None:
        each = line("allow")
        each.tell(Send(b"1"), ApprovalAsked("a", "Bash"), OK)
        assert await each.whole() == b"1<a approved>"


class TestAsking:
    """Somebody answers: what is asked waits for it, within a time."""

    async def test_what_is_settled(self, line: Callable[..., Line]) -> None:
        each = line("ask")
        async with each.running():
            each.tell(ApprovalAsked("a", "Bash"), QuestionAsked("q"))
            assert await still_open(each)
            assert each.answers == []
            assert each.talk.settle("q", "answered", {"0": "red"})
            assert each.talk.settle("a", "approved")
            await anyio.sleep(0.01)
            assert each.read() == b"<q answered><a approved>"
        assert each.contents == [{"0": "red"}, None]

    async def test_only_what_waits_is_settled(self, line: Callable[..., Line]) -> None:
        each = line("ask")
        each.tell(ApprovalAsked("a", "Bash"), ApprovalAsked("b", "Bash"))
        assert each.talk.settle("a", "denied")
        each.tell(InteractionResolved("b", "cancelled"))  # taken back by the agent
        for name in ("a", "b", "never asked"):
            assert not each.talk.settle(name, "approved")
        assert each.answers == [("a", "denied")]

    async def test_out_of_time(self, line: Callable[..., Line]) -> None:
        each = line("ask", ask_timeout=0.05)
        async with each.running():
            each.tell(ApprovalAsked("a", "Bash"), ElicitationAsked("e", "s", "m"))
            for _ in range(10_000):
                if len(each.answers) == 2:
                    break
                await anyio.sleep(0.001)
            assert each.open
            assert not each.talk.settle("a", "approved")
        assert each.answers == [("a", "denied"), ("e", "cancelled")]

    async def test_nobody_is_left_to_answer(self, line: Callable[..., Line]) -> None:
        each = line("ask")
        each.tell(ApprovalAsked("a", "Bash"))
        each.talk.nobody_answers()
        each.tell(ApprovalAsked("b", "Bash"), OK)
        assert await each.whole() == b"<a denied><b denied>"

    async def test_the_input_stays_open_for_a_background_that_asks(
        self, line: Callable[..., Line], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """However long the person takes: the agent is finished, but waits."""
        monkeypatch.setattr(talk_module, "LINGER", 0.01)
        each = line("ask")
        async with each.running():
            each.tell(RUNS, OK, ApprovalAsked("a", "Bash"))
            await anyio.sleep(0.05)
            assert each.open
            each.talk.settle("a", "approved")
            await anyio.sleep(0.005)
            assert each.read() in (b"<a approved>", b"")

    async def test_nothing_can_be_settled_after_the_end(
        self, line: Callable[..., Line]
    ) -> None:
        each = line("ask")
        each.tell(ApprovalAsked("a", "Bash"), OK)
        assert await each.whole() == b""
        assert not each.talk.settle("a", "approved")
        assert each.answers == []


class TestEnding:
    async def test_after_the_final_event_only(self, line: Callable[..., Line]) -> None:
        each = line()
        async with each.running():
            each.tell(Send(b"1"), TurnStarted("t"))
            assert await still_open(each)
            each.tell(OK)
            assert not await still_open(each)

    async def test_background_tasks_may_still_ask(
        self, line: Callable[..., Line]
    ) -> None:
        """The agent wakes up after one: the result after that is the last."""
        each = line("allow")
        async with each.running():
            each.tell(RUNS, OK)
            assert await still_open(each)
            each.tell(RAN, TurnStarted("t"), ApprovalAsked("a", "Bash"))
            await anyio.sleep(0.01)
            assert each.read() == b"<a approved>"
            each.tell(OK)
            assert not await still_open(each)

    async def test_a_silent_background_holds_nothing_up(
        self, line: Callable[..., Line], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A server that the agent started never ends."""
        monkeypatch.setattr(talk_module, "LINGER", 0.05)
        each = line()
        each.tell(RUNS, OK)
        assert await each.whole() == b""

    async def test_a_turn_takes_its_time(
        self, line: Callable[..., Line], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Only a finished agent's silence is an end."""
        monkeypatch.setattr(talk_module, "LINGER", 0.01)
        each = line()
        async with each.running():
            each.tell(RUNS, OK, TurnStarted("t"))
            await anyio.sleep(0.05)
            assert each.open

    async def test_left(
        self, line: Callable[..., Line], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Cancelled, an agent may say so before its input ends."""
        monkeypatch.setattr(talk_module, "LEAVE", 60.0)
        each = line()
        async with each.running():
            each.tell(RUNS, Send(b"cancel"))
            each.talk.leave()
            assert await still_open(each)
            each.tell(RunFinished(False))
            assert not await still_open(each)

    async def test_left_and_nothing_said(
        self, line: Callable[..., Line], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(talk_module, "LEAVE", 0.05)
        each = line()
        each.tell(Send(b"cancel"))
        each.talk.leave()
        assert await each.whole() == b"cancel"

    @pytest.mark.parametrize("events", [(), (OK,)], ids=["no-cancel", "finished"])
    async def test_left_with_nothing_to_wait_for(
        self, line: Callable[..., Line], events: tuple[Event, ...]
    ) -> None:
        each = line()
        each.tell(*events)
        each.talk.leave()
        async with each.running():
            assert not await still_open(each)
