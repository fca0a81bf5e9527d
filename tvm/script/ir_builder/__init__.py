"""Building programs by frames, without a text."""

from typing import TYPE_CHECKING

from .base import IRBuilder, IRBuilderFrame

if TYPE_CHECKING:
    from . import ir as ir
    from . import relax as relax
    from . import tir as tir

__all__ = ["IRBuilder", "IRBuilderFrame"]
