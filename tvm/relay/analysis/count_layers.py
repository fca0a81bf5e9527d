"""How deep a network is."""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay.expr import Call
from tvm.relay.expr_functor import ExprVisitor
from tvm.relay.traverse import children, post_order
from tvm.support.arguments import explained


class LayerCounter(ExprVisitor):
    """Counts the calls of chosen operators along the deepest path."""

    @explained
    def __init__(self, valid_ops: Sequence[str]) -> None:
        super().__init__()
        self.depth_count = 0
        self.valid_ops = [Op.get(name) for name in valid_ops]

    def visit_call(self, call: Call) -> None:
        """Note the deepest path that ends in this call."""
        self.depth_count = max(self.depth_count, _depth(call, self.valid_ops))
        super().visit_call(call)

    def count(self) -> int:
        """The number of layers that was found."""
        return self.depth_count


def _depth(root: RelaxExpr, valid_ops: Sequence[Op]) -> int:
    depths: dict[int, int] = {}
    for expr in post_order(root):
        below = max((depths[id(part)] for part in children(expr)), default=0)
        depths[id(expr)] = below + (isinstance(expr, Call) and expr.op in valid_ops)
    return depths[id(root)]


@explained
def count_layers(expr: RelaxExpr, valid_ops: Sequence[str]) -> int:
    """The most calls of the given operators on a path through an expression."""
    return _depth(expr, [Op.get(name) for name in valid_ops])
