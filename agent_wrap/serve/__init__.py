"""Live sessions over HTTP and SSE: facts as numbered events, snapshots and replay.

`session`, `wire`, `log`, `translate`, `status` and `history` are pure; the web server
and what it needs (`pip install '.[serve]'`) are loaded by `web` alone.
"""
