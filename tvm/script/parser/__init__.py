"""TVMScript reading: the core, and the decorators of the dialects."""

from .core.entry import parse

__all__ = ["parse"]
