"""Showing a dialog to people."""
