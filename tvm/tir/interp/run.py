"""The two entries of the interpreter: run a function, evaluate an expression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.function import CallingConv
from tvm.ir.host_tensor import HostTensor
from tvm.ir.module import IRModule
from tvm.tir.expr import Var, as_expr
from tvm.tir.function import PrimFunc
from tvm.tir.struct_field import StructField, TypeIndex

from .calls import Program
from .expr import ExprCompiler, Frame, Layout
from .stack import Slot
from .values import numpy_dtype

_EMPTY: Final = IRModule({})
_PARTS_OF_BYTES: Final = ("int1", "int2", "int4", "uint2", "uint4")


def run(func_or_mod: PrimFunc | IRModule, *args: Any, name: str = "main") -> Any:
    """Run a function on numpy arrays and numbers; outputs are written into their arrays.

    Of a module, the function called `name` runs. Returns what the function returns by `T.ret`,
    as a Python number, or None. For functions in C's convention there is `run_packed`.
    """
    if isinstance(func_or_mod, PrimFunc):
        mod = IRModule({GlobalVar(name): func_or_mod})
    else:
        mod = func_or_mod
    function = Program(mod).function(mod.get_global_var(name))
    given = [_host(arg) for arg in args]
    held = [_in_bytes(arg) for arg in given]
    with np.errstate(all="ignore"):
        result = function.call(held)
        for arg, wide in zip(given, held):
            if wide is not arg:
                arg[...] = wide.astype(arg.dtype)
    return result.item() if isinstance(result, np.generic) else result


def _in_bytes(arg: Any) -> Any:
    """Integers of less than 8 bits, which numpy has through ml_dtypes, as those of 8 bits."""
    name = arg.dtype.name if isinstance(arg, np.ndarray) else ""
    if name in _PARTS_OF_BYTES:
        return arg.astype("int8" if name.startswith("i") else "uint8")
    return arg


def is_packed(func: PrimFunc) -> bool:
    """Whether a function has C's packed convention, as `MakePackedAPI` gives it."""
    return bool(func.attrs.get("calling_conv") == CallingConv.C_PACKED_FUNC)


def run_packed(mod: IRModule, *args: Any, name: str = "main") -> Any:
    """Run a function in C's packed convention; gives what it returns as `run` does."""
    result = Slot({})
    run(mod, None, [_host(arg) for arg in args], len(args), result, name=name)
    found = result.fields.get((0, StructField.ANY_UNION_VALUE))
    kind = result.fields.get((0, StructField.ANY_TYPE_INDEX), TypeIndex.NONE)
    if int(kind) == TypeIndex.NONE:
        return None
    return found.item() if isinstance(found, np.generic) else found


def _host(arg: Any) -> Any:
    """An argument as the interpreter takes it: tensors of other libraries share their memory."""
    if isinstance(arg, HostTensor):
        return arg.numpy()
    if isinstance(arg, (np.ndarray, np.generic)) or not hasattr(arg, "__dlpack__"):
        return arg
    return np.from_dlpack(arg)


def evaluate(expr: Any, values: Mapping[Var, Any] | None = None) -> Any:
    """The value of an expression: a Python number, or an array for a vector."""
    node: PrimExpr = as_expr(expr)
    layout = Layout()
    code = ExprCompiler(layout, Program(_EMPTY)).compile(node)
    frame: Frame = [None] * layout.size
    for var, value in (values or {}).items():
        slot = layout.slots.get(var)
        if slot is not None:
            kind = numpy_dtype(var.dtype)
            frame[slot] = np.asarray(value, kind) if var.dtype.is_vector else kind.type(value)
    with np.errstate(all="ignore"):
        result = code(frame)
    return result.item() if isinstance(result, np.generic) else result
