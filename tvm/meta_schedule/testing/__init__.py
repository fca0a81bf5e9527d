"""Helpers to try out and to check searches with."""
