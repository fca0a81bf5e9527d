"""Graphs on devices of Apple."""
