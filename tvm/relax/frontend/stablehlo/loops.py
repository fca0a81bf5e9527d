"""Loops: regions that are repeated, with the values that stand outside of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tvm.relax.expr import Var
from tvm.relax.loops import while_loop

from .program import Operation, Region, Value
from .registry import convert

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


def outer_values(regions: Sequence[Region]) -> list[Value]:
    """Values that operations of the regions read, and that stand outside of them."""
    made: set[int] = set()
    read: dict[int, Value] = {}
    todo = list(regions)
    while todo:
        region = todo.pop()
        made |= {id(value) for value in region.arguments}
        for node in region.operations:
            made |= {id(value) for value in node.results}
            read |= {id(value): value for value in node.operands}
            todo += node.regions
    return [value for key, value in read.items() if key not in made]


@convert("stablehlo.while")
def repeated(imp: StableHLOImporter, node: Operation, *state: Any) -> list[Any]:
    """The state after the last turn."""
    test, body = node.regions
    outer = [v for v in outer_values(node.regions) if isinstance(imp.env[v], Var)]

    def run(region: Region, state: Sequence[Any], around: Sequence[Any]) -> list[Any]:
        before = [imp.env[value] for value in outer]
        imp.env.update(zip(outer, around))
        results = imp.run(region, state)
        imp.env.update(zip(outer, before))
        return results

    return while_loop(
        imp.block_builder,
        state,
        [imp.env[value] for value in outer],
        lambda state, around: run(test, state, around)[0],
        lambda state, around: run(body, state, around),
    )
