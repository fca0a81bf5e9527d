"""The form of all mutators."""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

from tvm.meta_schedule.base import Component
from tvm.tir.schedule import Trace
from tvm.tir.schedule.random_engine import RandomEngine

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class Mutator(Component):
    """Changes a decision of a trace at random."""

    _engine: RandomEngine | None = None

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Read what the mutator needs of the module and target."""

    @property
    def engine(self) -> RandomEngine:
        """Where its random numbers come from; a search gives it one that has a seed."""
        if self._engine is None:
            self._engine = RandomEngine(-1)
        return self._engine

    def use_engine(self, engine: RandomEngine) -> None:
        """Draw from the numbers of a search."""
        self._engine = engine

    def apply(self, trace: Trace) -> Trace | None:
        """Another trace, without postprocessing; None if there is nothing to change."""
        self._missing("apply")

    def vary(self, trace: Trace) -> Trace | None:
        """As `apply`, but what only a replay can draw may be left open, for the replay to draw."""
        return self.apply(trace)

    def clone(self) -> Mutator:
        """Another one that can belong to another context."""
        return copy.copy(self)

    @staticmethod
    def create(kind: str) -> dict[Mutator, float]:
        """The default mutators of a kind with their probabilities: llvm, cuda, and others."""
        from .defaults import default_mutators  # made of classes that are derived from this one

        return default_mutators(kind)


class PyMutator(Mutator):
    """Derive from it, define `apply(trace, _)`, and decorate with `derived_object`.

    The second argument of `apply` is a random state, which others need not give.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        written = cls.__dict__.get("apply")
        if written is not None and not hasattr(written, "__wrapped__"):
            cls.apply = _with_optional_state(written)  # type: ignore[method-assign]

    def apply(self, trace: Trace, _: Any = None) -> Trace | None:
        """Another trace; None if there is nothing to change."""
        self._missing("apply")

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Whoever derives says what to read of the context."""
        self._missing("initialize_with_tune_context")

    def clone(self) -> Mutator:
        """Another one that can belong to another context."""
        self._missing("clone")


def _with_optional_state(written: Any) -> Any:
    @functools.wraps(written)
    def apply(self: PyMutator, trace: Trace, state: Any = None) -> Trace | None:
        result: Trace | None = written(self, trace, state)
        return result

    return apply


create = Mutator.create
