"""How Relax prints: importing this package registers a rule for each node class."""

from . import binding as binding
from . import expr as expr
from . import function as function
from . import struct_info as struct_info
from . import symbols as symbols

__all__ = ["binding", "expr", "function", "struct_info", "symbols"]
