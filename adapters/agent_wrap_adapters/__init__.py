"""The built-in adapters: one agent's format each, found through entry points."""
