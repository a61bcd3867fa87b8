"""`python -m agent_wrap`: the same as the command `agent-wrap`."""

import signal
import sys

STOP = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM}

if __name__ == "__main__":
    # From our first line on a stop signal waits to be answered.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, STOP)

    from agent_wrap.cli import main

    sys.exit(main(mask=set(map(int, mask))))
