"""Building programs by frames, without a text."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_packages

from .base import IRBuilder, IRBuilderFrame

if TYPE_CHECKING:
    from . import ir as ir
    from . import relax as relax
    from . import tir as tir
else:
    __getattr__ = lazy_packages(__name__, "ir", "relax", "tir")

__all__ = ["IRBuilder", "IRBuilderFrame"]
