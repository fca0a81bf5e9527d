"""The form of all postprocessors."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from tvm.meta_schedule.base import Component
from tvm.tir.schedule import Schedule

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class Postproc(Component):
    """Changes a schedule, or says that it is not to be measured."""

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Read what the postprocessor needs of the target."""

    def apply(self, sch: Schedule) -> bool:
        """Finish the schedule; False if it is of no use."""
        self._missing("apply")

    def clone(self) -> Postproc:
        """Another one that can belong to another context."""
        return copy.copy(self)

    @staticmethod
    def create(kind: str) -> list[Postproc]:
        """The default postprocessors of a kind: llvm, cuda, hexagon, and others."""
        from .defaults import default_postprocs  # made of classes that are derived from this one

        return default_postprocs(kind)


class PyPostproc(Postproc):
    """Derive from it, define `apply`, and decorate with `derived_object`."""

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Whoever derives says what to read of the context."""
        self._missing("initialize_with_tune_context")

    def clone(self) -> Postproc:
        """Another one that can belong to another context."""
        self._missing("clone")


create = Postproc.create
