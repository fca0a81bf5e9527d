"""Parts of programs that are looked at on their own."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_hash
from tvm.ir.type import TupleType
from tvm.relay.expr import Call, Var
from tvm.relay.function import Function
from tvm.relay.traverse import post_order
from tvm.relay.variables import free_vars


def extract_fused_functions(mod: IRModule) -> dict[str, Function]:
    """The primitive functions of `main` after fusion; equal ones once, by their hashes."""
    from tvm.relay.transform import FuseOps, InferType

    fused = InferType()(FuseOps()(InferType()(mod)))
    found: dict[str, Function] = {}
    for expr in post_order(fused["main"]):
        if isinstance(expr, Function) and "Primitive" in expr.attrs:
            found.setdefault(str(structural_hash(expr)), expr)
    return found


def extract_intermdeiate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """A module that gives the value of one call, counted by the calls in the printed text."""
    from tvm.relay.transform import InferType

    typed = InferType()(mod)
    calls = [e for e in post_order(typed["main"]) if isinstance(e, Call)]
    if not 0 <= expr_id < len(calls):
        raise TVMError(f"extract: no call {expr_id}; legal: 0 ... {len(calls) - 1}")
    body = calls[expr_id]
    return IRModule.from_expr(Function(free_vars(body), body))  # typed, but for the result's type


def search_fc_transpose(expr: RelaxExpr) -> list[str]:
    """The names of weights that stand, transposed, in products."""
    return [
        weight.args[0].name_hint
        for call in post_order(expr)
        if isinstance(call, Call) and call.op is Op.get("nn.dense")
        and isinstance(weight := call.args[1], Call) and weight.op is Op.get("transpose")
        and isinstance(weight.args[0], Var)
    ]  # fmt: skip


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """How often each operator stands between a `dequantize` and the `quantize` after it."""
    from tvm.relay.transform import InferType

    typed = InferType()(mod)
    quantize, dequantize = Op.get("qnn.quantize"), Op.get("qnn.dequantize")
    inside: dict[int, Call] = {}
    for func in typed.functions.values():
        for expr in post_order(func):
            if isinstance(expr, Call) and expr.op is quantize:
                inside.update(_fake_quantized(expr.args[0], dequantize))
    return dict(Counter(call.op.name for call in inside.values()))  # type: ignore[attr-defined]


def _fake_quantized(root: RelaxExpr, dequantize: Op) -> dict[int, Call]:
    """The calls that take, directly or not, nothing but dequantized values and constants."""
    from tvm.relay.expr import Constant
    from tvm.relay.traverse import children

    found: dict[int, Call] = {}
    stack, seen = [root], set()
    while stack:
        expr = stack.pop()
        if id(expr) in seen:
            continue
        seen.add(id(expr))
        if isinstance(expr, Call) and expr.op is dequantize:
            continue
        if isinstance(expr, Call) and isinstance(expr.op, Op):
            found[id(expr)] = expr
            stack.extend(expr.args)
        elif isinstance(expr, (Var, Call, Function)):
            return {}  # a value comes in that is no integer
        elif not isinstance(expr, Constant):
            stack.extend(children(expr))
    return found


def tensor_types(found: Any) -> list[Any]:
    """The tensor types in a type, from left to right."""
    if isinstance(found, TupleType):
        return [inner for field in found.fields for inner in tensor_types(field)]
    return [found]
