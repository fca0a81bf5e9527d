"""Helpers for tests: comparisons, marks, parameters, forms of tests, and a pytest plugin."""

from tvm.support.lazy import lazy_dir, lazy_names

from .homes import HOMES

_CHILDREN = ("attrs", "plugin", "utils", "pass_test", "random_inputs", "runner", "tir")
_HOMES = HOMES
__getattr__ = lazy_names(__name__, _HOMES)
__dir__ = lazy_dir(__name__, *_CHILDREN, *_HOMES)
__all__ = [*HOMES]
