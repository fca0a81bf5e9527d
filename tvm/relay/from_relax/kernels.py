"""Kernels of a Relax program that no operator stands for."""

from __future__ import annotations

from typing import Any

from tvm.error import OpNotImplemented, message
from tvm.relay.expr import TupleGetItem
from tvm.relay.op.kernel import call_tir as _call_tir
from tvm.relay.ty import is_dynamic
from tvm.tir.function import PrimFunc

from .translate import Translator, relay_type, rule


@rule("relax.call_tir")
def call_tir(t: Translator, call: Any, args: Any, *more: Any) -> Any:
    """The kernel itself; Relay has none of unknown extents."""
    func = t.mod[call.args[0]]
    infos: list[Any] = [call.sinfo_args[0], call.args[1].struct_info]
    types = [relay_type(info) for info in infos]
    if more or any(is_dynamic(found) for found in types) or not isinstance(func, PrimFunc):
        name = getattr(call.args[0], "name_hint", "a kernel")
        raise OpNotImplemented(
            message(
                f"the kernel {name!r} in Relay", found=f"extents that may be any: {types[0]}",
                legal="extents that are numbers; give the inputs' shapes",
            )
        )  # fmt: skip
    made = _call_tir(func, [t.tensor(arg) for arg in args], types[0])
    count = len(getattr(types[0], "fields", ()))
    return tuple([TupleGetItem(made, at) for at in range(count)]) if count else made
