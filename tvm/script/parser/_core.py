"""What dialects of their own are made of: the parser, its registries, and its tree."""

from .core import dispatch, doc, utils
from .core.dispatch import OpMethod, register_op
from .core.entry import parse, scan_macro
from .core.parser import Parser

__all__ = [
    "OpMethod", "Parser", "dispatch", "doc", "parse", "register_op", "scan_macro", "utils",
]  # fmt: skip
