"""TVMScript reading: the core, and the decorators of the dialects."""

from tvm.support.lazy import lazy_names

from .core.entry import parse

_HOMES = {"ir_module": "tvm.script.ir_dialect.entry:ir_module"}
__getattr__ = lazy_names(__name__, _HOMES)

__all__ = ["parse"]
