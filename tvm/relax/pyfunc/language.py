"""What the language's own calls do when a Relax function runs as a Python function.

Kernels are compiled, packed functions are called as they are, closures are functions of Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.relax.base_py_module import BasePyModule
from tvm.relax.expr import Call, ExternFunc
from tvm.relax.interp import AssertionFailed
from tvm.relax.py_tensors import is_torch, to_numpy, to_runtime
from tvm.relax.struct_info import TupleStructInfo
from tvm.runtime import cpu


class Evaluator(Protocol):
    """Who runs a function: it has the values of expressions, and calls functions and kernels."""

    ir_module: IRModule

    def value(self, expr: RelaxExpr) -> Any: ...
    def own(self, found: Any) -> Any: ...
    def packed(self, name: str, args: Sequence[Any]) -> Any: ...
    def call_global(self, callee: GlobalVar, args: Sequence[Any]) -> Any: ...
    def machine(self) -> BasePyModule: ...
    def results(self, info: StructInfo) -> Any: ...
    def empty(self, info: StructInfo) -> Any: ...


Word: TypeAlias = "Callable[[Evaluator, Call], Any]"


def _operands(conv: Evaluator, call: Call) -> list[Any]:
    """What a kernel is called with: tensors, then sizes."""
    args = list(conv.value(call.args[1]))
    return args + list(conv.value(call.args[2])) if len(call.args) > 2 else args


def _call_tir(conv: Evaluator, call: Call) -> Any:
    name = call.args[0].name_hint  # type: ignore[attr-defined]
    found = conv.machine().call_tir(
        name, _operands(conv, call), conv.results(call.sinfo_args[0])
    )
    return conv.own(found)


def _copied(value: Any) -> Any:
    """A tensor of the runtime with the value, to write to."""
    return to_runtime(value.clone() if is_torch(value) else np.array(value), cpu())


def _inplace(call: Call) -> list[int]:
    given = call.attrs.inplace_indices  # type: ignore[union-attr]
    return [int(getattr(i, "value", i)) for i in given]


def _call_tir_inplace(conv: Evaluator, call: Call) -> Any:
    """A variable may hold the operand still: what is overwritten is a copy of it."""
    indices, several = _inplace(call), isinstance(call.sinfo_args[0], TupleStructInfo)
    args = [
        _copied(arg) if i in indices else arg for i, arg in enumerate(_operands(conv, call))
    ]
    fields = call.sinfo_args[0].fields if several else call.sinfo_args  # type: ignore[attr-defined]
    fresh = [conv.empty(field) for i, field in zip(indices, fields) if i == -1]
    count = len(conv.value(call.args[1]))
    name = call.args[0].name_hint  # type: ignore[attr-defined]
    conv.machine().run_kernel(name, [*args[:count], *fresh, *args[count:]])
    new = iter(fresh)
    outs = tuple(conv.own(next(new) if i == -1 else args[i]) for i in indices)
    return outs if several else outs[0]


def _call_dps(conv: Evaluator, call: Call) -> Any:
    name = call.args[0].global_symbol  # type: ignore[attr-defined]
    args = list(conv.value(call.args[1]))
    try:  # a function of the inputs only gives its result
        return conv.packed(name, args)
    except TypeError as error:
        if "positional argument" not in str(error):
            raise
    found = conv.machine().call_dps_packed(name, args, conv.results(call.sinfo_args[0]))
    return conv.own(found)


def _call_py(conv: Evaluator, call: Call) -> Any:
    name = str(conv.value(call.args[0]))
    func = conv.ir_module.pyfuncs.get(name)
    if func is None:
        raise TVMError(message(f"call_py_func({name!r})", found="no function of this name"))
    return func(*conv.value(call.args[1]))


def _applied(conv: Evaluator, callee: RelaxExpr, args: Sequence[Any]) -> Any:
    if isinstance(callee, ExternFunc):
        return conv.packed(callee.global_symbol, args)
    if isinstance(callee, GlobalVar):
        return conv.call_global(callee, args)
    return conv.value(callee)(*args)


def _call_pure(conv: Evaluator, call: Call) -> Any:
    return _applied(conv, call.args[0], [conv.value(arg) for arg in call.args[1:]])


def _call_inplace_packed(conv: Evaluator, call: Call) -> Any:
    """A function that gives nothing has left its results in the operands."""
    indices = _inplace(call)
    args = [conv.value(arg) for arg in call.args[1:]]
    args = [_copied(arg) if i in indices else arg for i, arg in enumerate(args)]
    found = _applied(conv, call.args[0], args)
    if found is not None:
        return found
    outs = tuple(conv.own(args[i]) for i in indices)
    return outs if len(outs) > 1 else outs[0]


def _call_builtin(conv: Evaluator, call: Call) -> Any:
    """A function of the virtual machine, which there gets the machine before its arguments."""
    args = list(conv.value(call.args[1]))
    callee = call.args[0]
    known = _BUILTINS.get(getattr(callee, "global_symbol", ""))
    return _applied(conv, callee, args) if known is None else known(conv, args)


def _make_closure(conv: Evaluator, call: Call) -> Any:
    return _closure(conv, conv.value(call.args[0]), conv.value(call.args[1]))


def _closure(conv: Evaluator, callee: Any, bound: Sequence[Any]) -> Any:
    if isinstance(callee, GlobalVar):
        return lambda *args: conv.call_global(callee, [*bound, *args])
    return functools.partial(callee, *bound)


def _invoke_closure(conv: Evaluator, call: Call) -> Any:
    return _invoked(conv, conv.value(call.args[0]), conv.value(call.args[1]))


def _invoked(conv: Evaluator, callee: Any, args: Sequence[Any]) -> Any:
    if isinstance(callee, GlobalVar):
        return conv.call_global(callee, args)
    return callee(*args)


_BUILTINS: Final[dict[str, Callable[[Evaluator, Sequence[Any]], Any]]] = {
    "vm.builtin.make_closure": lambda conv, args: _closure(conv, args[0], args[1:]),
    "vm.builtin.invoke_closure": lambda conv, args: _invoked(conv, args[0], args[1:]),
    "vm.builtin.shape_of": lambda conv, args: tuple(int(n) for n in args[0].shape),
    "vm.builtin.tensor_to_shape": lambda conv, args: tuple(int(n) for n in args[0]),
}


def _text(conv: Evaluator, operands: Sequence[RelaxExpr]) -> str:
    """The text of a format string and its values, or of the values alone."""
    values = [conv.value(operand) for operand in operands]
    if values and isinstance(values[0], str) and values[0]:
        return values[0].format(*values[1:])
    return " ".join(str(value) for value in values[1:])


def _print(conv: Evaluator, call: Call) -> Any:
    print(_text(conv, call.args))
    return ()


def _assert(conv: Evaluator, call: Call) -> Any:
    if not bool(conv.value(call.args[0])):
        detail = _text(conv, call.args[1:])
        raise AssertionFailed("Assertion Failed" + (f": {detail}" if detail else ""))
    return ()


def _shape_of(conv: Evaluator, call: Call) -> Any:
    return tuple(int(n) for n in conv.value(call.args[0]).shape)


def _shape_to_tensor(conv: Evaluator, call: Call) -> Any:
    return conv.own(np.asarray(conv.value(call.args[0]), "int64"))


def _tensor_to_shape(conv: Evaluator, call: Call) -> Any:
    return tuple(int(n) for n in to_numpy(conv.value(call.args[0])))


def _null_value(conv: Evaluator, call: Call) -> Any:
    return None


def _same(conv: Evaluator, call: Call) -> Any:
    """Python functions run where their tensors are."""
    return conv.value(call.args[0])


LANGUAGE: Final[dict[str, Word]] = {
    "relax.assert_op": _assert,
    "relax.call_builtin_with_ctx": _call_builtin,
    "relax.call_dps_packed": _call_dps,
    "relax.call_inplace_packed": _call_inplace_packed,
    "relax.call_pure_packed": _call_pure,
    "relax.call_py_func": _call_py,
    "relax.call_tir": _call_tir,
    "relax.call_tir_inplace": _call_tir_inplace,
    "relax.call_tir_with_grad": _call_tir,
    "relax.hint_on_device": _same,
    "relax.invoke_closure": _invoke_closure,
    "relax.invoke_pure_closure": _invoke_closure,
    "relax.make_closure": _make_closure,
    "relax.null_value": _null_value,
    "relax.print": _print,
    "relax.shape_of": _shape_of,
    "relax.shape_to_tensor": _shape_to_tensor,
    "relax.tensor_to_shape": _tensor_to_shape,
    "relax.to_vdevice": _same,
}
