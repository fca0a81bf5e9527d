"""The value of one operator's call: its meaning in Relax, run in numpy or, if large, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import relax
from tvm.ir.host_tensor import HostTensor
from tvm.ir.structural import structural_digest
from tvm.ir.transform import PassContext
from tvm.ir.type import TupleType, Type
from tvm.relay.expr import Call, Var
from tvm.relay.expr import Constant as RelayConstant
from tvm.relay.op.declare import INJECTIVE
from tvm.relay.to_relax_types import lowered
from tvm.relay.ty import TensorType
from tvm.support.optional import is_installed

_MODULES: dict[str, Any] = {}  # by the text of the call; cleared when it grows large
_MAX_CACHED = 2000
# Below this many elements numpy is done before LLVM has started.
_SMALL = 4096


def call_value(call: Call, args: Sequence[Any]) -> Any:
    """The array (or tuple of arrays) that a call of an operator gives for arrays.

    The passes on the way are none of the caller's: they have a context of their own, which no
    instrument of the caller's sees.
    """
    with PassContext():
        return _call_value(call, args)


def _call_value(call: Call, args: Sequence[Any]) -> Any:
    plain = _static(call, args)
    if plain is not None:
        return plain
    key = _key(call, args)
    made = _MODULES.get(key)
    if made is None:
        if len(_MODULES) >= _MAX_CACHED:
            _MODULES.clear()
        made = _MODULES[key] = _module(call, args)
    arrays = [array for arg in args for array in _flat(arg)]
    pattern = call.op.get_attr("TOpPattern")  # type: ignore[attr-defined]
    plain = pattern is not None and int(pattern) <= INJECTIVE  # numpy is as quick
    large = sum(array.size for array in arrays) > _SMALL
    if large and not plain and is_installed("llvmlite"):
        return _compiled(key, made, arrays)
    from tvm.relax import interp

    return interp.run(made, *arrays)


def _static(call: Call, args: Sequence[Any]) -> Any:
    """The value of an operator whose shape is among its arguments; None for others."""
    if call.op.get_attr("FRelayNumbers") is None:  # type: ignore[attr-defined]
        return None
    from tvm.relay.op.dynamic import static_form

    numbers = call.op.get_attr("FRelayNumbers")  # type: ignore[attr-defined]
    operands = [
        RelayConstant(np.asarray(arg)) if at in numbers else Var(f"x{at}", _type_of(arg))
        for at, arg in enumerate(args)
    ]
    plain = static_form(call, operands)
    where = {id(v): at for at, v in enumerate(operands)}
    values = [
        args[where[id(a)]] if id(a) in where else a.data.numpy() for a in plain.args
    ]
    return _call_value(plain, values)


def _type_of(value: Any) -> Type:
    if isinstance(value, (tuple, list)):
        return TupleType([_type_of(field) for field in value])
    return TensorType(np.shape(value), str(np.asarray(value).dtype))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [array for field in value for array in _flat(field)]
    return [np.asarray(value)]


def _type_text(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"({','.join(_type_text(field) for field in value)})"
    array = np.asarray(value)
    return f"{array.dtype}{array.shape}"


def _key(call: Call, args: Sequence[Any]) -> str:
    attrs = "" if call.attrs is None else structural_digest(call.attrs)
    known = [_constant_text(arg) for arg in call.args]
    if call.op.get_attr("FRelayByValue"):  # type: ignore[attr-defined]
        known = [np.asarray(arg).tobytes().hex() for arg in args]
    name = getattr(call.op, "name", "")
    return f"{name} {attrs} {[_type_text(arg) for arg in args]} {known}"


def _constant_text(arg: Any) -> str:
    """Constants are part of what a call means: shapes may be told by them."""
    if isinstance(arg, RelayConstant) and arg.data.numpy().size <= 64:
        return arg.data.numpy().tobytes().hex()
    return ""


def _module(call: Call, args: Sequence[Any]) -> Any:
    bb = relax.BlockBuilder()
    params: list[Any] = []

    def operand(value: Any) -> Any:
        if isinstance(value, (tuple, list)):
            return relax.Tuple([operand(field) for field in value])
        array = np.asarray(value)
        info = relax.TensorStructInfo(array.shape, str(array.dtype))
        params.append(relax.Var(f"x{len(params)}", info))
        return params[-1]

    operands = [operand(arg) for arg in args]
    if call.op.get_attr("FRelayByValue"):  # type: ignore[attr-defined]
        operands = [relax.Constant(HostTensor(np.asarray(arg))) for arg in args]
    for at, arg in enumerate(call.args):
        if isinstance(arg, RelayConstant) and arg.data.numpy().size <= 64:
            operands[at] = relax.Constant(arg.data)
    with bb.function("main", params):
        value = lowered(bb, call, operands)
        bb.emit_func_output(bb.normalize_argument(value))
    return bb.finalize()


_BUILT: dict[str, Any] = {}


def _compiled(key: str, mod: Any, arrays: Sequence[Any]) -> Any:
    from tvm import runtime
    from tvm.relax.vm import VirtualMachine
    from tvm.relax.vm_build import build

    if key not in _BUILT:
        if len(_BUILT) >= _MAX_CACHED:
            _BUILT.clear()
        _BUILT[key] = VirtualMachine(build(mod, "llvm"), runtime.cpu())
    given = [runtime.tensor(array) for array in arrays]
    return as_numpy(_BUILT[key]["main"](*given))


def as_numpy(value: Any) -> Any:
    """A value of the runtime as arrays and tuples of them."""
    if hasattr(value, "numpy"):
        return value.numpy()
    return tuple(as_numpy(field) for field in value)


__all__ = ["as_numpy", "call_value"]
