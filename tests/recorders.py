"""A recorder as a run has it, for tests that feed it themselves."""

from __future__ import annotations

from agent_wrap.adapter import Adapter
from agent_wrap.clocks import Clocks
from agent_wrap.dialog import Dialog
from agent_wrap.ledger import Ledger
from agent_wrap.reader import Reader
from agent_wrap.recorder import Recorder
from agent_wrap.redact import Redactor
from agent_wrap.writer import Archive


def recorder_of(archive: Archive, adapter: Adapter, secret: str) -> Recorder:
    """Make a recorder without limits of time; the secret is called KEY."""
    clocks = Clocks(
        started=0.0,
        spawned=0.0,
        timeout=None,
        first_output=None,
        idle=None,
        result_grace=1.0,
    )
    dialog, redactor = Dialog(prompt="Do it"), Redactor({"KEY": secret})
    return Recorder(Reader(adapter), dialog, archive, clocks, Ledger(), redactor)
