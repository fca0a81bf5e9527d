"""Mark where postprocessing begins."""

from __future__ import annotations

from tvm.tir.schedule.instruction import kind
from tvm.tir.schedule.tree import SRefTree

KIND = kind("EnterPostproc", "enter_postproc")


def enter_postproc(state: SRefTree) -> None:
    """Nothing changes; traces can be cut here."""
