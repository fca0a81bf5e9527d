"""All words of `R`: frames, values, struct infos, and every operator under its own name."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable as Function
from typing import Any, Final

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr, StructInfo
from tvm.ir.global_info import VDevice
from tvm.ir.op import Op
from tvm.relax.expr import Call, ExprLike, ExternFunc, StringImm, TupleGetItem, const
from tvm.relax.struct_info import ShapeExpr

from . import values
from .builder import (
    Else,
    If,
    SeqExpr,
    Then,
    arg,
    dataflow,
    emit,
    emit_match_cast,
    emit_te,
    emit_var_binding,
    func_attr,
    func_name,
    func_ret_struct_info,
    func_ret_value,
    function,
    output,
)
from .proxies import (
    Callable,
    Object,
    Prim,
    Shape,
    StructInfoProxy,
    Tensor,
    Tuple,
    as_struct_info,
    vdevice_of,
)
from .values import call_packed, dtype, prim_value, shape

# Operators that live in groups: `R.nn.relu`, `R.builtin.alloc_tensor`.
_GROUPS: Final = (
    "nn", "image", "vision", "builtin", "memory", "vm", "ccl", "distributed", "grad", "inspect",
)  # fmt: skip
# Devices, for `R.hint_on_device`; the runtime loads when one is named.
_DEVICES: Final = (
    "cpu", "cuda", "device", "ext_dev", "hexagon", "metal", "opencl", "rocm", "vpi", "vulkan",
    "webgpu",
)  # fmt: skip
# Words for tensors on a mesh, which load when one is used.
_DISTRIBUTED: Final = ("DTensor", "DTensorProxy")
# Words that would hide Python's own if they stood in this module.
_HIDING: Final[dict[str, Any]] = {"str": values.string, "tuple": values.tuple_of}
_WORDS_OF_TYPES: Final = (Object, Tensor, Shape, Callable, Tuple)


def to_vdevice(data: RelaxExpr, dst_vdevice: str | VDevice) -> Call:
    """The data on another virtual device, given by itself or by name."""
    device = dst_vdevice if isinstance(dst_vdevice, VDevice) else vdevice_of(dst_vdevice)
    made: Call = _op_module().to_vdevice(data, device)
    return made


def call_tir(
    func: str | RelaxExpr,
    args: ExprLike,
    out_sinfo: StructInfo | list[StructInfo],
    tir_vars: ShapeExpr | tuple[Any, ...] | list[Any] | None = None,
) -> Call:
    """A call of a TIR function of the module."""
    callee = func if isinstance(func, RelaxExpr) else values.global_var(func)
    made: Call = _op_module().call_tir(callee, args, _infos(out_sinfo), tir_vars)
    return made


def call_py_func(
    py_func_name: str, *args: Any, out_sinfo: StructInfo | list[StructInfo]
) -> Call:
    """A call of a Python function of the module."""
    operands = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    made: Call = _op_module().call_py_func(StringImm(py_func_name), operands, _infos(out_sinfo))
    return made


def _op_module() -> Any:
    return importlib.import_module("tvm.relax.op")


def _infos(value: Any) -> Any:
    """Struct infos in place of proxies, also within lists."""
    if isinstance(value, StructInfoProxy):
        return as_struct_info(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_infos(item) for item in value)
    if callable(value) and value in _WORDS_OF_TYPES:
        return as_struct_info(value)
    return value


def _with_infos(func: Function[..., Any]) -> Function[..., Any]:
    """The operator's function, which takes struct infos as scripts write them."""

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = {key: _infos(value) for key, value in kwargs.items()}
        return func(*[_infos(value) for value in args], **given)

    return call


class _Group:
    """Operators with a common prefix."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("_") else find(f"{self._path}.{name}")
        if found is None:
            raise AttributeError(f"R.{self._path} has no operator {name!r}")
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        module = getattr(_op_module(), self._path, None)
        return sorted(getattr(module, "__all__", ()))


class _DistGroup(_Group):
    """`R.dist`: meshes and placements may be given by their names."""

    def __getattr__(self, name: str) -> Any:
        if name in _dist_module().WORDS:
            return getattr(_dist_module(), name)
        return super().__getattr__(name)

    def __dir__(self) -> list[str]:
        return sorted(_dist_module().WORDS)


def _dist_module() -> Any:
    return importlib.import_module("tvm.relax.script.dist")


def find(name: str) -> Any:
    """The word `R.<name>`: an operator's function, a group, or a call of a bare operator."""
    if name == "dist":
        return _DistGroup(name)
    if name in _DISTRIBUTED:
        return getattr(_dist_module(), name)
    if name == "rewriter":  # a decorator, which needs the parser
        return importlib.import_module("tvm.relax.script.entry").rewriter
    if name in _DEVICES:
        return getattr(importlib.import_module("tvm.runtime"), name, None)
    if name == "Range":
        return importlib.import_module("tvm.ir").Range
    if name == "device_mesh":
        return importlib.import_module("tvm.relax.distributed").device_mesh
    if name in _GROUPS:
        return _Group(name)
    found: Any = _op_module()
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return _bare_op(name)
    if inspect.ismodule(found):
        return _Group(name)
    return _with_infos(found) if callable(found) else None


def _bare_op(name: str) -> Any:
    """A call of an operator that has no function of its own."""
    try:
        op = Op.get(f"relax.{name}")
    except TVMError:
        return None
    maker = op.get_attr("FMakeCall")
    if maker is not None:
        return _with_infos(maker)

    def call(*args: Any, sinfo_args: Any = (), **options: Any) -> Call:
        if options:
            raise TypeError(f"R.{name} takes no options, found {', '.join(options)}")
        return Call(op, args, None, _infos(list(sinfo_args)))

    return call


def word(name: str) -> Any:
    """The word `R.<name>`; what this module needs for itself is none."""
    if name in __all__:
        return globals()[name]
    if not name.startswith("_"):
        found = _HIDING.get(name) or find(name)
        if found is not None:
            return found
    raise AttributeError(f"R has no word {name!r}")


def __getattr__(name: str) -> Any:
    return word(name)


def __dir__() -> list[str]:
    names = getattr(_op_module(), "__all__", ())
    groups = (*_GROUPS, *_HIDING, *_DISTRIBUTED, *_DEVICES)
    others = ("Range", "device_mesh", "dist", "rewriter")
    return sorted({*__all__, *names, *groups, *others})


__all__ = [
    "Callable", "Else", "ExternFunc", "If", "Object", "Prim", "SeqExpr", "Shape", "ShapeExpr",
    "Tensor", "Then", "Tuple", "TupleGetItem", "arg", "call_packed", "call_py_func", "call_tir",
    "const", "dataflow", "dtype", "emit", "emit_match_cast", "emit_te", "emit_var_binding",
    "func_attr", "func_name", "func_ret_struct_info", "func_ret_value", "function",
    "output", "prim_value", "shape", "to_vdevice",
]  # fmt: skip
