"""Backends of accelerators that users describe."""
