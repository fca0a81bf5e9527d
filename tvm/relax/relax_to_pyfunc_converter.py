"""Relax functions as Python functions, to run them step by step on torch's tensors or numpy's.

    converter = RelaxToPyFuncConverter(Module)
    converted = converter.convert("main")
    converted.pyfuncs["main"](x, y)          # torch.add(x, y) where the function said R.add(x, y)

An operator that torch has under some name is torch's when its operands are; any other one is
computed by its meaning in numpy. Kernels are compiled, packed functions are called as they are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relax.base_py_module import BasePyModule, PyModuleFactory
from tvm.relax.expr import (
    Call,
    Constant,
    DataTypeImm,
    ExternFunc,
    Function,
    If,
    MatchCast,
    PrimValue,
    SeqExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.py_tensors import (
    is_torch,
    leaves,
    to_numpy,
    to_runtime,
    to_torch,
    torch_dtype,
)
from tvm.relax.pyfunc.language import LANGUAGE
from tvm.relax.pyfunc.torch_operators import OPERATOR_MAP, torch_call
from tvm.relax.struct_info import (
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.runtime import cpu, empty
from tvm.support.suggest import did_you_mean
from tvm.tir.expr import Var as TirVar
from tvm.tir.function import PrimFunc
from tvm.tir.interp import evaluate

PyFunc: TypeAlias = Callable[..., Any]


class RelaxToPyFuncConverter:
    """Converts functions of a module."""

    operator_map: Final[Mapping[str, str]] = OPERATOR_MAP

    def __init__(self, ir_module: IRModule) -> None:
        self.ir_module = _plain(ir_module)

    @staticmethod
    def _get_op_map() -> dict[str, str]:
        """Torch's names of operators, by the operators' names."""
        return dict(OPERATOR_MAP)

    def convert(self, relax_function_names: str | list[str]) -> IRModule:
        """The module with these functions as Python functions, in `pyfuncs` too."""
        names = relax_function_names
        wanted = [names] if isinstance(names, str) else list(names)
        mod = self.ir_module
        functions = dict(mod.functions)
        made: dict[str, PyFunc] = {}
        for name in wanted:
            func = self._relax_function(name)
            made[name] = _py_function(name, func, self.ir_module)
            facts = {
                "is_pyfunc": True,
                "function_name": name,
                "python_source": source_of(name, func),
            }
            functions[mod.get_global_var(name)] = ExternFunc(name).with_attrs(facts)
        converted: IRModule = mod.with_functions(functions)
        converted.pyfuncs.update(mod.pyfuncs)
        converted.pyfuncs.update(made)
        return converted

    def _relax_function(self, name: str) -> Function:
        known = [v.name_hint for v, f in self.ir_module.functions_items() if _is_graph(f)]
        if name not in known:
            raise ValueError(
                message(
                    f"convert({name!r})",
                    found=f"no Relax function of this name{did_you_mean(name, known)}",
                    legal=", ".join(known) or "none",
                )
            )
        func = self.ir_module[name]
        assert isinstance(func, Function), "chosen above"
        return func


def convert_relax_to_pyfunc(
    ir_module: IRModule, relax_function_names: str | list[str]
) -> IRModule:
    """The module with these Relax functions as Python functions."""
    return RelaxToPyFuncConverter(ir_module).convert(relax_function_names)


def _plain(ir_module: IRModule | PyModuleFactory) -> IRModule:
    return ir_module.ir_module if isinstance(ir_module, PyModuleFactory) else ir_module


def _is_graph(func: object) -> bool:
    return isinstance(func, Function)


def _py_function(name: str, func: Function, mod: IRModule) -> PyFunc:
    def call(*args: Any) -> Any:
        return RelaxExpressionConverter(OPERATOR_MAP, mod).call_function(func, args, name)

    call.__name__ = name
    call.__doc__ = f"The Relax function {name!r}, in Python."
    return call


class RelaxExpressionConverter:
    """Gives Relax expressions their values, with torch's functions where operands are torch's."""

    def __init__(
        self,
        operator_map: Mapping[str, str],
        ir_module: IRModule | None = None,
        op_cache: dict[str, str] | None = None,
    ) -> None:
        self.operator_map = operator_map
        self.ir_module = IRModule({}) if ir_module is None else _plain(ir_module)
        self.op_cache = {} if op_cache is None else op_cache
        self._values: dict[Any, Any] = {}
        self._symbols: dict[TirVar, int] = {}
        self._on_torch = False

    def convert_expr(self, expr: RelaxExpr, args: Sequence[Any]) -> Any:
        """The value of an expression; its variables, in the order of their first use, are `args`.

        A function is called with the arguments.
        """
        if isinstance(expr, Function):
            return self.call_function(expr, args, "the function")
        from tvm.relax.analysis import free_vars

        self._on_torch = any(is_torch(leaf) for leaf in leaves(args))
        for var, value in zip(free_vars(expr), args):
            self._values[var.vid] = value
            self._learn(var.struct_info_, value)
        return self.value(expr)

    def call_function(self, func: Function, args: Sequence[Any], name: str) -> Any:
        """The result of a function."""
        if len(args) != len(func.params):
            names = ", ".join(p.name_hint for p in func.params)
            asked = f"{name}: Expected {len(func.params)} arguments, got {len(args)}"
            raise ValueError(message(asked, legal=names or "none"))
        self._on_torch = self._on_torch or any(is_torch(leaf) for leaf in leaves(args))
        for param, arg in zip(func.params, args):
            self._values[param.vid] = arg
            self._learn(param.struct_info_, arg)
        return self.value(func.body)

    # --- values ---

    def value(self, expr: RelaxExpr) -> Any:
        """The value of an expression; long sequences are walked with a loop."""
        if isinstance(expr, Var):
            if expr.vid not in self._values:
                raise TVMError(f"variable {expr.name_hint!r} has no value here")
            return self._values[expr.vid]
        if isinstance(expr, Constant):
            return self._own(expr.data.numpy())
        if isinstance(expr, Tuple):
            return tuple(self.value(field) for field in expr.fields)
        if isinstance(expr, TupleGetItem):
            return self.value(expr.tuple_value)[expr.index]
        if isinstance(expr, ShapeExpr):
            return tuple(self._number(extent) for extent in expr.values)
        if isinstance(expr, PrimValue):
            return self._number(expr.value)
        if isinstance(expr, (StringImm, DataTypeImm)):
            return expr.value
        if isinstance(expr, SeqExpr):
            return self._sequence(expr)
        if isinstance(expr, If):
            taken = expr.true_branch if bool(self.value(expr.cond)) else expr.false_branch
            return self.value(taken)
        if isinstance(expr, Function):
            return functools.partial(self._local, expr)
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, (GlobalVar, ExternFunc)):
            return expr
        raise TVMError(f"a {type(expr).__name__} has no value in Python")

    def _sequence(self, seq: SeqExpr) -> Any:
        for block in seq.blocks:
            for binding in block.bindings:
                value = self.value(binding.value)
                if isinstance(binding, MatchCast):
                    self._learn(binding.struct_info, value)
                self._values[binding.var.vid] = value
        return self.value(seq.body)

    def _own(self, value: Any) -> Any:
        """A numpy value as the function's tensors are."""
        return to_torch(value) if self._on_torch else value

    def _number(self, value: PrimExpr) -> Any:
        known = getattr(value, "value", None)
        if isinstance(known, (int, float, str)):
            return known
        return evaluate(value, self._symbols)

    def _learn(self, info: StructInfo | None, value: Any) -> None:
        """What symbols are, from a value that has them as extents."""
        if isinstance(info, TupleStructInfo):
            for field, part in zip(info.fields, value):
                self._learn(field, part)
        elif isinstance(info, (TensorStructInfo, ShapeStructInfo)) and info.values is not None:
            extents = value.shape if hasattr(value, "shape") else value
            for extent, number in zip(info.values, extents):
                if isinstance(extent, TirVar):
                    self._symbols.setdefault(extent, int(number))

    # --- calls ---

    def _local(self, func: Function, *args: Any) -> Any:
        """A local function: it sees the values around it, and has symbols of its own."""
        inner = self._fresh()
        inner._values = dict(self._values)
        inner._symbols = dict(self._symbols)
        return inner.call_function(func, args, "a local function")

    def _fresh(self) -> RelaxExpressionConverter:
        made = RelaxExpressionConverter(self.operator_map, self.ir_module, self.op_cache)
        made._on_torch = self._on_torch
        return made

    def _call(self, call: Call) -> Any:
        callee = call.op
        if isinstance(callee, Op):
            special = LANGUAGE.get(callee.name)
            if special is not None:
                return special(self, call)
            return self._operator(callee, call)
        args = [self.value(arg) for arg in call.args]
        if isinstance(callee, GlobalVar):
            return self.call_global(callee, args)
        if isinstance(callee, ExternFunc):
            return self.packed(callee.global_symbol, args)
        return self.value(callee)(*args)

    def call_global(self, callee: GlobalVar, args: Sequence[Any]) -> Any:
        """Call a function of the module."""
        name = callee.name_hint
        found = self.ir_module.pyfuncs.get(name)
        if found is not None:
            return found(*args)
        func = self.ir_module[callee]
        if isinstance(func, Function):
            return self._fresh().call_function(func, args, name)
        if isinstance(func, ExternFunc):
            return self.packed(func.global_symbol, args)
        raise TVMError(f"{name}: a {type(func).__name__} is called by R.call_tir")

    def packed(self, name: str, args: Sequence[Any]) -> Any:
        """Call a registered function."""
        func = get_global_func(name, allow_missing=True)
        if func is None:
            raise TVMError(
                message(f"call {name!r}", found="no registered function of this name")
            )
        result = func(*[to_runtime(arg, cpu()) for arg in args])
        return to_torch(result) if self._on_torch else to_numpy(result)

    def _operator(self, op: Op, call: Call) -> Any:
        args = [self.value(arg) for arg in call.args]
        options = {}
        if call.attrs is not None:
            options = {key: call.attrs[key] for key in call.attrs.keys()}  # noqa: SIM118
        if self._on_torch or any(is_torch(leaf) for leaf in leaves(args)):
            found = torch_call(op.name, self.operator_map, args, options)
            if found is not None:
                self.op_cache[op.name] = self.operator_map.get(op.name, op.name)
                return _typed_torch(found, call.struct_info_)
        reference: Callable[..., Any] | None = op.get_attr("FReference")
        if reference is None:
            raise TVMError(f"operator {op.name} has no meaning in Python")
        result = reference(call, [_for_reference(arg) for arg in args])
        return self._own(_typed(result, call.struct_info_))

    def own(self, found: Any) -> Any:
        """A kernel's result as the function's tensors are."""
        return to_torch(found) if self._on_torch else to_numpy(found)

    def empty(self, info: StructInfo) -> Any:
        """A tensor of the runtime for a kernel to write to."""
        known = self.results(info)
        return empty([int(extent.value) for extent in known.values], str(known.dtype), cpu())

    def machine(self) -> BasePyModule:
        """The module's kernels, compiled once."""
        kernels = {
            v: f for v, f in self.ir_module.functions.items() if isinstance(f, PrimFunc)
        }
        return _machine(IRModule(kernels))

    def results(self, info: StructInfo) -> Any:
        """The struct info of results with numbers for symbols."""
        if isinstance(info, TupleStructInfo):
            return [self.results(field) for field in info.fields]
        assert isinstance(info, TensorStructInfo), "kernels give tensors"
        shape = [self._number(extent) for extent in info.values or ()]
        return TensorStructInfo(shape, info.dtype)


@functools.lru_cache(maxsize=16)
def _machine(mod: IRModule) -> BasePyModule:
    return BasePyModule(mod, cpu(0))


def _for_reference(value: Any) -> Any:
    return to_numpy(value)


def _typed(result: Any, info: StructInfo | None) -> Any:
    if isinstance(info, TupleStructInfo) and isinstance(result, (tuple, list)):
        return tuple(_typed(part, field) for part, field in zip(result, info.fields))
    if isinstance(info, TensorStructInfo) and not info.is_unknown_dtype():
        from tvm.relax.numpy_dtype import numpy_dtype

        return np.asarray(result, numpy_dtype(info.dtype))
    return result


def _typed_torch(result: Any, info: StructInfo | None) -> Any:
    """A result of torch's in the data types that the struct info promises."""
    if isinstance(info, TupleStructInfo) and isinstance(result, (tuple, list)):
        return tuple(_typed_torch(part, field) for part, field in zip(result, info.fields))
    if isinstance(info, TensorStructInfo) and not info.is_unknown_dtype() and is_torch(result):
        return result.to(torch_dtype(info.dtype))
    return result


def source_of(name: str, func: Function) -> str:
    """The function as Python text: one line for each binding of its own body."""
    params = ", ".join(param.name_hint for param in func.params)
    lines = [f"def {name}({params}):"]
    for block in func.body.blocks:
        for binding in block.bindings:
            lines.append(f"    {binding.var.name_hint} = {_text(binding.value)}")
    lines.append(f"    return {_text(func.body.body)}")
    return "\n".join(lines)


def _text(expr: RelaxExpr) -> str:
    if isinstance(expr, Var):
        return expr.name_hint
    if isinstance(expr, Tuple):
        inner = ", ".join(_text(field) for field in expr.fields)
        return f"({inner},)" if len(expr.fields) == 1 else f"({inner})"
    if isinstance(expr, TupleGetItem):
        return f"{_text(expr.tuple_value)}[{expr.index}]"
    if isinstance(expr, Call) and isinstance(expr.op, Op):
        word = OPERATOR_MAP.get(expr.op.name, expr.op.name.replace("relax.", "R."))
        options = []
        if expr.attrs is not None:
            options = [f"{key}={expr.attrs[key]!r}" for key in expr.attrs.keys()]  # noqa: SIM118
        return f"{word}({', '.join([*(_text(arg) for arg in expr.args), *options])})"
    if isinstance(expr, (StringImm, DataTypeImm)):
        return repr(str(expr.value))
    if isinstance(expr, GlobalVar):
        return expr.name_hint
    return str(expr).strip().split("\n")[-1]


__all__ = [
    "RelaxExpressionConverter", "RelaxToPyFuncConverter", "convert_relax_to_pyfunc",
]  # fmt: skip
