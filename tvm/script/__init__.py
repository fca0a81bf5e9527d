"""TVMScript: programs as Python text. Reading, printing, and building by frames."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

_HOMES = {
    "from_source": "tvm.script.parser.core.entry:parse",
    "parse": "tvm.script.parser.core.entry:parse",
    "ir_module": "tvm.script.ir_dialect.entry:ir_module",
    "prim_func": "tvm.tir.script.entry:prim_func",
}

if TYPE_CHECKING:
    from . import ir as ir
    from . import relax as relax
    from . import tir as tir
    from .ir_dialect.entry import ir_module as ir_module
    from .parser.core.entry import parse as from_source
    from .parser.core.entry import parse as parse
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["from_source", "ir", "ir_module", "parse", "relax", "tir"]
