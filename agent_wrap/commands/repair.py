"""`agent-wrap repair ARCHIVE`: finish a dialog whose wrapper was killed."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from agent_wrap.errors import ArchiveError
from agent_wrap.rescue import repair
from agent_wrap.writer import Archive


def main(argv: Sequence[str]) -> int:
    """Finish the dialog; give 0 when it is whole then (or was), 125 while in use."""
    parser = argparse.ArgumentParser(
        prog="agent-wrap repair",
        description="Finish the dialog of a run whose wrapper was killed: cut a torn "
        "line, close the open tools, say what happened. A dialog that is complete is "
        "left as it is; one that is still being written is refused (125).",
    )
    parser.add_argument("archive", metavar="ARCHIVE", help="the run's folder")
    path = parser.parse_args(list(argv)).archive
    archive = Archive.reopen(path)
    try:
        print(f"{archive.dialog_path}: {repair(archive)}")
    except BrokenPipeError:
        raise
    except OSError as error:
        raise ArchiveError(
            archive.dialog_path, f"cannot be finished: {error.strerror}"
        ) from None
    finally:
        archive.close()
    return 0
