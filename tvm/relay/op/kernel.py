"""A kernel that a program brings itself, for what no operator says."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.error import TVMError, message
from tvm.ir.type import Type
from tvm.relay.expr import Call
from tvm.tir.function import PrimFunc

from .declare import OPAQUE, Relate, as_expr, relay_op


def not_compiled(bb: Any, *args: Any, **options: Any) -> Any:
    """The meaning of operators that only a machine knows: there is none in Relax."""
    raise TVMError(
        message(
            "relay: an operator of planned memory is to be compiled",
            found="memory.alloc_storage, memory.alloc_tensor, vm.invoke_tvm_op or the like",
            legal="the program before its memory was planned; relay.build plans by itself",
        )
    )


def _result(ctx: Relate) -> Type | None:
    found: Type = ctx.attrs.result
    return found


def _call(bb: Any, args: Any, *, func: PrimFunc, result: Type) -> Any:
    from tvm.relay.to_relax_types import Symbols  # it reads the operators

    known = dict(func.attrs or {}).get("global_symbol", "kernel")
    var = bb.add_func(func, str(known))
    return relax.op.call_tir(var, args, Symbols().info(result))


@relay_op("call_tir", "CallTIRAttrs", operands=("args",), relation=_result, lower=_call,
          pattern=OPAQUE)  # fmt: skip
def call_tir(func: PrimFunc, args: Any, result: Type) -> Call:
    """What a PrimFunc writes for these tensors: a tensor, or a tuple, of the type `result`.

    The function's parameters are the tensors of `args`, then those of the result; their extents
    are numbers.
    """
    return call_tir.call(as_expr(list(args)), func=func, result=result)
