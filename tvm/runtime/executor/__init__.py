"""Runners of programs that were built as one function."""

from .aot_executor import AotModule as AotModule
