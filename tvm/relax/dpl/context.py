"""Contexts that gather constraints between patterns: who uses whom, whose shapes agree.

    with PatternContext() as ctx:
        is_op("relax.matmul")(wildcard(), wildcard()) >> is_op("relax.nn.relu")(wildcard())
        found = ctx.match_dfb(block)
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from typing_extensions import Self

from tvm.error import CheckError
from tvm.ffi.object import Object
from tvm.ir.op import Op

if TYPE_CHECKING:
    from tvm.ir.expr import RelaxExpr
    from tvm.relax.expr import DataflowBlock

    from .pattern import DFConstraint, DFPattern


class Edge(NamedTuple):
    """A value is operand `operand_index` (-1: any) of another; it has no other user if `only`."""

    producer: DFPattern
    consumer: DFPattern
    only: bool
    operand_index: int


class PatternContext(Object):
    """The constraints between patterns that are made within `with`.

    An incremental context starts with what the context around it has.
    """

    _stack: ClassVar[list[PatternContext]] = []

    def __init__(self, incremental: bool = False) -> None:
        around = PatternContext.current()
        if incremental and around is None:
            raise CheckError(
                "Incremental context needs to be built inside a existing context: "
                "with PatternContext(): ..."
            )
        self.edges: list[Edge] = list(around.edges) if incremental and around else []
        self.constraints: list[DFConstraint] = (
            list(around.constraints) if incremental and around else []
        )

    def __enter__(self) -> Self:
        PatternContext._stack.append(self)
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        PatternContext._stack.pop()

    @staticmethod
    def current() -> PatternContext | None:
        """The context entered last, or None outside of any."""
        return PatternContext._stack[-1] if PatternContext._stack else None

    def add_edge(self, edge: Edge) -> None:
        """Note that one value is used by another; saying it twice changes nothing."""
        if edge not in self.edges:
            self.edges.append(edge)

    def add_constraint(self, constraint: DFConstraint) -> None:
        """Note what has to hold of the values that patterns match."""
        self.constraints.append(constraint)

    def match_dfb(self, dfb: DataflowBlock) -> dict[DFPattern, RelaxExpr] | None:
        """Values of the block that keep all constraints, one for each pattern; None if none do.

        Different patterns match different values; operators are none.
        """
        from .block_matcher import match_block  # stands above the patterns, which need contexts

        found = match_block(self, dfb)
        if found is None:
            return None
        return {pattern: value for pattern, value in found.items() if not isinstance(value, Op)}
