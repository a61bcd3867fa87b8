"""A dialog in the formats of others: one module a format, each a pure projection.

A format's module has `export(run)`, which gives the file's text piece by piece.
"""
