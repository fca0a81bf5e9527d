"""Operators that are one function on tensor expressions."""

from typing import Any


def kernel(func: Any) -> Any:
    """The meaning of an operator as a function on tensor expressions, options in their order."""
    return lambda bb, *args, **options: bb.call_te(func, *args, *options.values())
