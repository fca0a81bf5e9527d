"""Handing pieces of a graph to outside libraries: patterns, and the table of them."""

from .pattern_registry import get_pattern, get_patterns_with_prefix, register_patterns

__all__ = ["get_pattern", "get_patterns_with_prefix", "register_patterns"]
