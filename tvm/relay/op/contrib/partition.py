"""What the tables of all outside compilers share: questions to a match, and the road of passes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import Sequential
from tvm.relay.expr import Call
from tvm.relay.function import Function
from tvm.relay.traverse import post_order
from tvm.relay.ty import TensorType


def partitioned(
    mod: IRModule, compiler: str, table: Sequence[Any], bind_constants: bool = True
) -> IRModule:
    """The module whose parts that fit the table are functions for the compiler.

    With `bind_constants` they hold their constants, else those are operands.
    """
    from tvm.relay import transform as t

    return Sequential([
        t.InferType(),
        t.MergeComposite(table),
        t.AnnotateTarget([compiler], include_non_call_ops=False),
        t.PartitionGraph(bind_constants=bind_constants),
        t.InferType(),
    ])(mod)  # fmt: skip


def bound(mod: IRModule, params: Mapping[str, Any] | None) -> IRModule:
    """The module with parameters of main as constants."""
    from tvm.relay.build_module import bind_params_by_name

    if not params:
        return mod
    main = mod["main"]
    assert isinstance(main, Function), "main is a function of Relay"
    made = bind_params_by_name(main, params)
    return mod.with_functions({**mod.functions, mod.get_global_var("main"): made})


def root_call(expr: Any, op_name: str) -> Call:
    """The call of an operator in a match, nearest to its start."""
    op = Op.get(op_name)
    found = next((e for e in post_order(expr) if isinstance(e, Call) and e.op is op), None)
    assert found is not None, f"the pattern has a {op_name}"
    return found


def tensor_types(call: Call) -> list[TensorType]:
    """The types of the operands."""
    found = [arg.checked_type for arg in call.args]
    return [each for each in found if isinstance(each, TensorType)]
