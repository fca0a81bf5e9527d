"""Kernels of a Relax program that no operator stands for."""

from __future__ import annotations

from typing import Any

from tvm.error import OpNotImplemented, message
from tvm.relay.expr import Tuple, TupleGetItem
from tvm.relay.op.declare import ATTRS_CLASSES, dynamic
from tvm.relay.op.kernel import call_tir as _call_tir
from tvm.relay.op.kernel import symbols_of
from tvm.relay.ty import is_dynamic
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc

from .translate import Translator, relay_type, rule


@rule("relax.call_tir")
def call_tir(t: Translator, call: Any, args: Any, scalars: Any = ()) -> Any:
    """The kernel itself; of unknown extents with the numbers that they have when it runs."""
    func = t.mod[call.args[0]]
    results = call.sinfo_args[0]
    found = relay_type(results)
    types = [found, *[relay_type(field.struct_info) for field in call.args[1].fields]]
    if not isinstance(func, PrimFunc):
        raise _refused(call, found)
    tensors = [t.tensor(arg) for arg in args]
    if scalars or any(is_dynamic(one) for one in types):
        numbers = _numbers(t, call, func, scalars)
        attrs = ATTRS_CLASSES["DynCallTIRAttrs"](func=func, result=found)
        made: Any = dynamic("dyn.call_tir", attrs, Tuple(tensors), numbers)
    else:
        made = _call_tir(func, tensors, found)
    count = len(getattr(found, "fields", ()))
    return tuple([TupleGetItem(made, at) for at in range(count)]) if count else made


def _numbers(t: Translator, call: Any, func: PrimFunc, scalars: Any) -> Any:
    """What the kernel's symbols are at this call, as a vector."""
    infos = [field.struct_info for field in call.args[1].fields]
    results = call.sinfo_args[0]
    infos += list(getattr(results, "fields", [results]))
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    values: dict[Any, Any] = {}
    for buffer, info in zip(buffers, infos):
        if info.shape is None or not hasattr(info.shape, "values"):
            raise _refused(call, relay_type(results))
        values.update(
            {e: n for e, n in zip(buffer.shape, info.shape.values) if isinstance(e, Var)}
        )
    values.update(zip([p for p in func.params if p not in func.buffer_map], scalars))
    symbols = symbols_of(func)
    if any(symbol not in values for symbol in symbols):
        raise _refused(call, relay_type(results))
    return t.shape_tensor([values[symbol] for symbol in symbols])


def _refused(call: Any, found: Any) -> OpNotImplemented:
    name = getattr(call.args[0], "name_hint", "a kernel")
    return OpNotImplemented(
        message(
            f"the kernel {name!r} in Relay", found=f"extents that may be any: {found}",
            legal="extents that the shapes of its tensors tell; give the inputs' shapes",
        )
    )  # fmt: skip
