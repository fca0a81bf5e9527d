"""A kernel that a program brings itself, for what no operator says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import relax
from tvm.arith import Analyzer
from tvm.error import TVMError, message
from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call
from tvm.relay.ty import TensorType
from tvm.tir.analysis import undefined_vars
from tvm.tir.buffer import decl_buffer
from tvm.tir.expr import IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute

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


def symbols_of(func: PrimFunc) -> list[Var]:
    """The extents of a function's tensors that have names, and its scalars, each once."""
    found: dict[Var, None] = {}
    for param in func.params:
        buffer = func.buffer_map.get(param)
        for extent in (param,) if buffer is None else buffer.shape:
            found.update(dict.fromkeys(undefined_vars(extent)))
    return list(found)


def call_with_numbers(func: PrimFunc, args: Any, numbers: Sequence[int], result: Any) -> Call:
    """`call_tir` of a function whose `symbols_of` are these numbers, on a tuple of tensors."""
    values = {v: IntImm(v.dtype, int(n)) for v, n in zip(symbols_of(func), numbers)}
    simplify = Analyzer().simplify
    given: dict[Var, Any] = {}
    types: list[Type] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            given[param] = values[param]
            continue
        shape = [simplify(substitute(extent, values)) for extent in buffer.shape]
        types.append(TensorType([int(extent) for extent in shape], buffer.dtype))  # type: ignore[call-overload]
        # extents that are computed from others follow by themselves
        kept = [new if isinstance(old, Var) else old for old, new in zip(buffer.shape, shape)]
        given[param] = decl_buffer(kept, buffer.dtype, buffer.name)
    known = func.specialize(given)
    several = isinstance(result, TupleType)
    count = len(result.fields) if isinstance(result, TupleType) else 1
    made = TupleType(types[-count:]) if several else types[-1]
    return call_tir.call(args, func=known, result=made)
