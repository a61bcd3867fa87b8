"""`python -m agent_wrap`: the same as the command `agent-wrap`."""

import sys

from agent_wrap.cli import main

sys.exit(main())
