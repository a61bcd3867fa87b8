"""One session: facts in, numbered events out; snapshot, replay, open questions. Pure.

    stamp -> encode once -> fold (state, turn, history) -> log -> tell the listener

Whoever calls gives the time. All of it happens at once, so a snapshot never falls
between a turn's end and its place in the history.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from agent_wrap.encode import encode
from agent_wrap.entries import timestamp
from agent_wrap.events import Event, Prompt
from agent_wrap.serve.history import messages_of
from agent_wrap.serve.log import Log, Turn
from agent_wrap.serve.reasons import category, terminal_reason
from agent_wrap.serve.status import after_turn, changes, fresh, merge
from agent_wrap.serve.translate import INTERACTION_MS, Translator
from agent_wrap.serve.wire import frame, frame_id, position

SETTLED = 1000
MAX_HISTORY_BYTES = 32 * 1024 * 1024
_ASKED = {
    "approval_required": "approval",
    "question_prompt": "question",
    "elicitation_prompt": "elicitation",
}


class Session:
    """What its clients see, and what a new one is told.

    `clean` is called with each line of JSON that leaves; `sink` with the data of each
    event before anybody can read it; `listener` with its type once it can be read.
    """

    def __init__(
        self,
        session_id: str,
        epoch: int,
        *,
        clean: Callable[[bytes], bytes] = lambda line: line,
        interaction_ms: int = INTERACTION_MS,
        log: Log | None = None,
    ) -> None:
        self.id = session_id
        self.epoch = epoch
        self.status = fresh()
        self.pending: dict[str, dict[str, Any]] = {}
        self.claimed: set[str] = set()
        """What waits for an answer and has got one that is on its way."""
        self.settled: OrderedDict[str, str] = OrderedDict()
        """How the last interactions were settled."""
        self.translator = Translator(interaction_ms)
        self.listener: Callable[[str], None] = lambda kind: None
        self.log = Log() if log is None else log
        self.sink: Callable[[bytes], None] = lambda data: None
        self.clean = clean
        self._turn: Turn | None = None
        self._history: deque[bytes] = deque()
        self._history_bytes = 0
        self.kept = 0
        """The number of the last event that is in the history."""
        self._snapshot = b""

    @property
    def cursor(self) -> int:
        """The number of the newest event."""
        return self.log.last

    @property
    def in_turn(self) -> bool:
        """Is a turn under way?"""
        return self._turn is not None

    def begin_turn(self, user_message: str | None = None) -> None:
        """Begin a turn, unless one is under way."""
        if self._turn is None:
            asked = {} if user_message is None else {"userMessage": user_message}
            self.publish("turn_start", **asked)

    def apply(self, event: Event, now_ms: int) -> None:
        """Take one fact; whatever happens belongs to a turn."""
        if isinstance(event, Prompt):
            self.begin_turn(event.text)
            return
        for kind, fields in self.translator.apply(event, now_ms):
            if kind == "status_change":
                self.change(fields["status"])
            else:
                self.begin_turn()
                self.publish(kind, **fields)

    def change(self, part: dict[str, Any]) -> None:
        """Tell what of the state has changed, if anything has."""
        news = changes(self.status, part)
        if news:
            self.publish("status_change", status=news)

    def end_turn(
        self,
        reason: str,
        message: str,
        now_ms: int,
        *,
        agents_word: str = "",
        unfinished: str = "no result was seen before the run ended",
    ) -> None:
        """End the turn: `reason` and `message` are those of `summary.json`."""
        self.begin_turn()
        tools_open = bool(self.translator.tools)
        for kind, fields in self.translator.close(unfinished):
            self.publish(kind, **fields)
        word = terminal_reason(reason, agents_word, tools_open=tools_open)
        if word != "completed":
            about = {"code": reason, "category": category(reason)}
            said = {"message": message or reason, **about}
            self.publish("error", **said)
            if word == "error":
                self.change({"lastError": said})
        self._keep(now_ms)
        self.publish("turn_end", terminalReason=word)

    def publish(self, kind: str, **fields: Any) -> int:
        """Number an event and let it be read; give its number."""
        seq = self.log.last + 1
        payload = {"seq": seq, "type": kind, **fields}
        data = self.clean(encode(payload))[:-1]
        self.sink(data)
        self._take(payload, data)
        self.listener(kind)
        return seq

    def restore(self, data: bytes, now_ms: int) -> bool:
        """Take an event of an earlier life; say whether it is the next one."""
        payload = json.loads(data)
        if payload.get("seq") != self.log.last + 1:
            return False
        if payload["type"] == "turn_end":
            self._keep(now_ms)
        self.translator.recall(payload)
        self._take(payload, data)
        return True

    def _take(self, payload: dict[str, Any], data: bytes) -> None:
        kind = payload["type"]
        name = frame_id(self.id, self.epoch, payload["seq"])
        made, start = frame(kind, data, name)
        self._fold(kind, payload)
        if kind == "turn_start":
            self._turn = Turn()
        if self._turn is not None:
            self._turn.append(made, start)
        if kind == "turn_end":
            self._turn = None
        self._snapshot = b""
        self.log.append(made)

    def resume(self, last_event_id: str | None, after: str | None) -> int | None:
        """Give where a client goes on, or None: it needs a snapshot first."""
        at = position(self.id, self.epoch, last_event_id, after)
        return at if at is not None and self.log.holds_after(at) else None

    def snapshot(self, now_ms: int) -> bytes:
        """Give the frame that tells a new client everything."""
        if self._snapshot and not self.pending:
            return self._snapshot
        turn = b"null"
        if self._turn is not None:
            turn = b"[%b]" % b",".join(self._shown(self._turn))
        data = (
            b'{"messages":[%b],"inProgressTurn":%b,"status":%b,'
            b'"pendingInteractions":%b,"queuedMessages":[],"cursor":%d}'
        ) % (
            b",".join(self._history),
            turn,
            self._json(self.status),
            self._json(self.waiting(now_ms)),
            self.cursor,
        )
        self._snapshot = frame("snapshot", data)[0]
        return self._snapshot

    def messages(self) -> bytes:
        """Give the history as the body of an answer."""
        return b'{"messages":[%b]}' % b",".join(self._history)

    def waiting(self, now_ms: int) -> list[dict[str, Any]]:
        """Give what waits for a person, with the time that is left."""
        out = []
        for asked in self.pending.values():
            left = asked["remainingMs"] - (now_ms - asked["startedAt"])
            if left > 0:
                out.append({**asked, "remainingMs": min(left, asked["remainingMs"])})
        return out

    def claim(self, interaction_id: str, kind: str) -> str | None:
        """Take what waits for an answer; give the agent's own id of it.

        None: nothing of this kind waits under this id, or somebody was faster.
        """
        asked = self.pending.get(interaction_id)
        if asked is None or asked["type"] != kind or interaction_id in self.claimed:
            return None
        self.claimed.add(interaction_id)
        return self.translator.asked_as(interaction_id)

    def _json(self, value: object) -> bytes:
        # In an object: that is what the encoder and the cleaner take.
        return self.clean(encode({"": value}))[len('{"":') : -len("}\n")]

    def _shown(self, turn: Turn) -> list[bytes | memoryview]:
        """Give a turn's events; in the place of those left out, say so."""
        events: list[bytes | memoryview] = list(turn.data())
        if turn.left_out:
            first = json.loads(bytes(events[0]))["seq"]
            note = f"{turn.left_out} events of this turn are left out here"
            told = {"seq": first + turn.left_out, "type": "system_status"}
            events.insert(1, encode({**told, "message": note})[:-1])
        return events

    def _fold(self, kind: str, payload: dict[str, Any]) -> None:
        """Take an event into the state, as clients do."""
        status = self.status
        if kind == "status_change":
            merge(status, payload["status"])
        elif kind == "turn_start":
            status["lifecycle"], status["lastError"] = "streaming", None
        elif kind == "turn_end":
            after = after_turn(payload["terminalReason"], waiting=bool(self.pending))
            status["lifecycle"] = after
            if after != "error":
                status["lastError"] = None
        elif kind in _ASKED:
            fields = {k: v for k, v in payload.items() if k not in ("seq", "type")}
            self.pending[payload["id"]] = {"type": _ASKED[kind], **fields}
            status["lifecycle"] = "blocked"
        elif kind == "interaction_resolved":
            self.pending.pop(payload["id"], None)
            self.claimed.discard(payload["id"])
            self.settled[payload["id"]] = payload["resolution"]
            if len(self.settled) > SETTLED:
                self.settled.popitem(last=False)
            if not self.pending and status["lifecycle"] == "blocked":
                status["lifecycle"] = "streaming" if self.in_turn else "idle"

    def _keep(self, now_ms: int) -> None:
        """Put the turn's messages into the history; the oldest go beyond a bound."""
        if self._turn is None:
            return
        events = [json.loads(bytes(data)) for data in self._shown(self._turn)]
        name = f"{self.id}-{events[0]['seq']}"
        for message in messages_of(events, name, timestamp(now_ms / 1000)):
            line = encode(message)[:-1]
            self._history.append(line)
            self._history_bytes += len(line)
        self.kept = self.cursor
        while self._history_bytes > MAX_HISTORY_BYTES and len(self._history) > 2:
            self._history_bytes -= len(self._history.popleft())
