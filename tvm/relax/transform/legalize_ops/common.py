"""Setting the rule by which an operator is legalized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call

LegalizeFunc = Callable[[BlockBuilder, Call], RelaxExpr]


def register_legalize(op_name: str, legal_func: LegalizeFunc | None = None) -> Any:
    """Set the rule of an operator; a decorator when no rule is given."""

    def register(func: LegalizeFunc) -> LegalizeFunc:
        op = Op.get(op_name)
        op.reset_attr("FLegalize")
        op.set_attr("FLegalize", func)
        return func

    return register if legal_func is None else register(legal_func)
