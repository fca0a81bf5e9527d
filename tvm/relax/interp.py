"""The meaning of Relax in numpy: operators by their references, TIR functions by their interpreter.

    interp = Interpreter(mod)
    y = interp.run("main", x, w)

Values are numpy arrays, tuples, shapes (tuples of integers), numbers, strings, data types, and
functions. Symbols get their values from the shapes of arguments and of casts, which are checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from tvm.error import BoundsError, DTypeError, ShapeError, TVMError, message
from tvm.ffi.registry import get_global_func
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.tir import expr as tir
from tvm.tir.function import PrimFunc
from tvm.tir.interp import evaluate
from tvm.tir.interp import run as run_tir

from .base_expr import Id
from .expr import (
    Binding,
    Call,
    Constant,
    DataflowVar,
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
from .final_binding import final_binding
from .interp_machine import MACHINE_FUNCTIONS, MACHINE_OPERATORS, made_shape
from .numpy_dtype import numpy_dtype
from .struct_info import (
    VOID,
    FuncStructInfo,
    PrimStructInfo,
    ShapeExpr,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)

Value = Any  # whatever a Relax expression may stand for
Symbols = dict[tir.Var, int]


class Shape(tuple[int, ...]):
    """A shape as a value; a plain tuple is a tuple of values."""

    __slots__ = ()


class Closure:
    """A function with the variables that it saw where it was made."""

    __slots__ = ("bound", "func", "symbols", "values")

    def __init__(
        self,
        func: Function,
        values: dict[Id, Value],
        symbols: Symbols,
        bound: tuple[Value, ...] = (),
    ) -> None:
        self.func: Final = func
        self.values: Final = values
        self.symbols: Final = symbols
        self.bound: Final = bound  # values for its last parameters


class AssertionFailed(TVMError, AssertionError):
    """The condition of an `assert_op` did not hold."""


class Interpreter:
    """Runs the functions of a module; `packed` are functions by name beside the global ones."""

    def __init__(
        self, mod: IRModule, packed: Mapping[str, Callable[..., Any]] | None = None
    ) -> None:
        self.mod = mod
        self.packed = dict(packed or {})

    def run(self, name: str, *args: Any) -> Value:
        """The result of the module's function `name`; arrays may be numpy's or a runtime's."""
        func = self.mod[name]
        if isinstance(func, Function):
            return self.call(func, [_value(arg) for arg in args], name)
        if isinstance(func, PrimFunc):
            return run_tir(self.mod, *[_value(arg) for arg in args], name=name)
        kind = type(func).__name__
        raise TVMError(f"interp: {name!r} is a {kind}; legal: Relax and TIR functions")

    def call(
        self,
        func: Function,
        args: Sequence[Value],
        name: str = "the function",
        closure: Closure | None = None,
    ) -> Value:
        """The result of a Relax function for these arguments."""
        while True:
            if len(args) != len(func.params):
                raise TVMError(
                    message(
                        f"{name}: wrong number of arguments",
                        found=str(len(args)),
                        legal=f"{len(func.params)}: {', '.join(p.name_hint for p in func.params)}",
                    )
                )
            frame = _Frame(self, name, {}, {})
            if closure is not None:
                frame.values.update(closure.values)
                frame.symbols.update(closure.symbols)
            for param, arg in zip(func.params, args):
                frame.values[param.vid] = arg
            for check in (False, True):  # symbols first, then extents that are made of them
                for param, arg in zip(func.params, args):
                    frame.match(param.struct_info, arg, f"parameter {param.name_hint!r}", check)
            result = frame.last(func.body)
            if not isinstance(result, _LastCall):
                return result
            func, args, name, closure = result.func, result.args, result.name, None


class _LastCall:
    """What a function calls as its last step: it reuses the frame, so loops do not nest."""

    __slots__ = ("args", "func", "name")

    def __init__(self, func: Function, args: list[Value], name: str) -> None:
        self.func: Final = func
        self.args: Final = args
        self.name: Final = name


class _Frame:
    """One activation of a function: its variables and symbols."""

    def __init__(
        self, interp: Interpreter, name: str, values: dict[Id, Value], symbols: Symbols
    ) -> None:
        self.interp = interp
        self.name = name
        self.values = values
        self.symbols = symbols

    # --- expressions ---

    def eval(self, expr: RelaxExpr) -> Value:
        """The value of an expression; long sequences are walked with a loop."""
        rule = _RULES.get(type(expr))
        if rule is None:
            raise TVMError(f"interp: a {type(expr).__name__} has no value")
        return rule(self, expr)

    def _var(self, var: Var) -> Value:
        if var.vid not in self.values:
            raise TVMError(f"{self.name}: variable {var.name_hint!r} has no value yet")
        return self.values[var.vid]

    def _seq(self, seq: SeqExpr) -> Value:
        for block in seq.blocks:
            self._bindings(block.bindings)
        return self.eval(seq.body)

    def _bindings(self, bindings: Sequence[Binding]) -> None:
        for binding in bindings:
            value = self._bound_value(binding.var, binding.value)
            if isinstance(binding, MatchCast):
                what = f"the cast to {binding.var.name_hint!r}"
                self.match(binding.struct_info, value, what, False)
                self.match(binding.struct_info, value, what, True)
            self.values[binding.var.vid] = value

    def last(self, seq: SeqExpr) -> Value:
        """The value of a function's body; a call of a global function at its end is given back."""
        while True:
            final = final_binding(seq)
            if final is None or not isinstance(final.value, (If, Call)):
                return self.eval(seq)
            value = final.value
            every = [binding for block in seq.blocks for binding in block.bindings]
            before = every[: next(i for i, one in enumerate(every) if one is final)]
            if isinstance(value, If):
                self._bindings(before)
                seq = value.true_branch if bool(self.eval(value.cond)) else value.false_branch
                continue
            callee = value.op if isinstance(value, Call) else None
            if not isinstance(value, Call) or not isinstance(callee, GlobalVar):
                return self.eval(seq)
            func = self.interp.mod.functions.get(callee)
            if not isinstance(func, Function):
                return self.eval(seq)
            self._bindings(before)
            return _LastCall(func, [self.eval(arg) for arg in value.args], callee.name_hint)

    def _bound_value(self, var: Var, expr: RelaxExpr) -> Value:
        if not isinstance(expr, Function):
            return self.eval(expr)
        # a local function may call itself: it sees the frame, in which it will stand itself
        return Closure(expr, self.values, self.symbols)

    def _if(self, expr: If) -> Value:
        taken = expr.true_branch if bool(self.eval(expr.cond)) else expr.false_branch
        return self.eval(taken)

    def _item(self, expr: TupleGetItem) -> Value:
        return self.eval(expr.tuple_value)[expr.index]

    def number(self, expr: PrimExpr) -> Any:
        """The value of a number or extent in this frame's symbols."""
        if isinstance(expr, (tir.IntImm, tir.FloatImm)):
            return expr.value
        if isinstance(expr, tir.Var):
            if expr not in self.symbols:
                raise TVMError(f"{self.name}: symbol {expr.name!r} has no value yet")
            return self.symbols[expr]
        if isinstance(expr, tir.StringImm):
            return expr.value
        return evaluate(expr, self.symbols)

    # --- calls ---

    def _call(self, call: Call) -> Value:
        callee = call.op
        if isinstance(callee, Op):
            special = _CALLS.get(callee.name)
            if special is not None:
                return special(self, call)
            return self._operator(callee, call)
        args = [self.eval(arg) for arg in call.args]
        return self.apply(callee, args)

    def _operator(self, op: Op, call: Call) -> Value:
        machine = MACHINE_OPERATORS.get(op.name)
        if machine is not None:
            return machine(*[self.eval(arg) for arg in call.args])
        reference: Callable[[Call, list[Value]], Value] | None = op.get_attr("FReference")
        if reference is None:
            raise TVMError(f"interp: operator {op.name} has no meaning in numpy")
        values = [self.eval(arg) for arg in call.args]
        try:
            with np.errstate(all="ignore"):
                result = reference(call, values)
        except IndexError as error:
            if isinstance(error, TVMError):
                raise
            asked = f"interp: an index of {op.name}"
            raise BoundsError(message(asked, found=str(error))) from error  # numpy's words
        return _typed(result, call.struct_info_)

    def apply(self, callee: RelaxExpr, args: list[Value]) -> Value:
        """Call what an expression stands for."""
        if isinstance(callee, GlobalVar):
            func = self.interp.mod[callee]
            if isinstance(func, Function):
                return self.interp.call(func, args, callee.name_hint)
            if isinstance(func, ExternFunc):
                return self.packed(func.global_symbol, args)
            return run_tir(self.interp.mod, *args, name=callee.name_hint)
        if isinstance(callee, ExternFunc):
            return self.packed(callee.global_symbol, args)
        return self.invoke(self.eval(callee), args)

    def invoke(self, closure: Value, args: list[Value]) -> Value:
        """Call a function value."""
        if isinstance(closure, Closure):
            return self.interp.call(
                closure.func, [*args, *closure.bound], "a local function", closure
            )
        if isinstance(closure, GlobalVar):
            return self.apply(closure, args)
        raise TVMError(f"{self.name}: {type(closure).__name__} is called, and is no function")

    def packed(self, name: str, args: list[Value]) -> Value:
        """Call a function known by name: one given to the interpreter, or a global one."""
        own = self.interp.packed.get(name)
        if own is not None:
            return own(*args)
        machine = MACHINE_FUNCTIONS.get(name)
        if machine is not None:
            return machine(*args)
        special = _PACKED.get(name)
        if special is not None:
            return special(self, args)
        func = get_global_func(name, allow_missing=True)
        if func is None:
            raise TVMError(f"{self.name}: there is no packed function {name!r}")
        given = [_for_runtime(arg) for arg in args]
        result = _value(func(*given))
        for arg, tensor in zip(args, given):
            if isinstance(arg, np.ndarray) and arg.flags.writeable:
                arg[...] = tensor.numpy()  # the function may have written into it
        return result

    def outputs(self, info: StructInfo) -> list[Any]:
        """New arrays for the results that a callee writes."""
        if isinstance(info, TupleStructInfo):
            return [array for field in info.fields for array in self.outputs(field)]
        if isinstance(info, TensorStructInfo) and info.values is not None:
            shape = [int(self.number(extent)) for extent in info.values]
            return [np.zeros(shape, numpy_dtype(info.dtype))]
        raise TVMError(f"{self.name}: a result to be written must have a known shape, found {info}")

    # --- struct info of values ---

    def match(self, info: StructInfo, value: Value, what: str, check: bool) -> None:
        """Bind symbols that stand alone as an extent; with `check`, compare all that is known."""
        if isinstance(info, TensorStructInfo):
            self._match_tensor(info, value, what, check)
        elif isinstance(info, ShapeStructInfo):
            self._match_shape(info, value, what, check)
        elif isinstance(info, TupleStructInfo):
            if not isinstance(value, (tuple, list)) or len(value) != len(info.fields):
                raise self._wrong(TVMError, what, "the tuple", value, info)
            for i, (field, part) in enumerate(zip(info.fields, value)):
                self.match(field, part, f"field {i} of {what}", check)
        elif isinstance(info, PrimStructInfo):
            known = [] if info.value is None else [info.value]
            self._match_extents(what, known, [value], check)
        elif isinstance(info, FuncStructInfo) and check:
            callable_ = isinstance(value, (Closure, GlobalVar)) or callable(value)
            if not callable_:
                raise self._wrong(TVMError, what, "the kind", value, info)

    def _match_tensor(
        self, info: TensorStructInfo, value: Value, what: str, check: bool
    ) -> None:
        if not isinstance(value, np.ndarray):
            raise self._wrong(DTypeError, what, "the kind", value, info)
        if info.dtype is not VOID and value.dtype != numpy_dtype(info.dtype):
            raise self._wrong(DTypeError, what, "the dtype", value, info)
        if info.ndim != -1 and value.ndim != info.ndim:
            raise self._wrong(ShapeError, what, "the number of dimensions", value, info)
        shape = info.shape
        if shape is not None and not isinstance(shape, ShapeExpr):
            if check and tuple(self.eval(shape)) != value.shape:
                raise self._wrong(ShapeError, what, "the shape", value, info)
            return
        self._match_extents(what, info.values or (), value.shape, check, value, info)

    def _match_shape(self, info: ShapeStructInfo, value: Value, what: str, check: bool) -> None:
        if not isinstance(value, (tuple, list)):
            raise self._wrong(ShapeError, what, "the kind", value, info)
        if info.ndim != -1 and len(value) != info.ndim:
            raise self._wrong(ShapeError, what, "the number of dimensions", value, info)
        self._match_extents(what, info.values or (), value, check, value, info)

    def _match_extents(
        self,
        what: str,
        extents: Sequence[PrimExpr],
        numbers: Sequence[Any],
        check: bool,
        value: Value = None,
        info: StructInfo | None = None,
    ) -> None:
        for extent, number in zip(extents, numbers):
            if isinstance(extent, tir.Var) and extent not in self.symbols:
                self.symbols[extent] = int(number)
            elif check and self.number(extent) != number:
                found = number if value is None else value
                wanted = str(info or extent)
                if not isinstance(extent, tir.IntImm):
                    wanted += f", where {extent} is {self.number(extent)}"
                raise self._wrong(ShapeError, what, "the shape", found, wanted)

    def _wrong(
        self, kind: type[TVMError], what: str, which: str, value: Value, legal: object
    ) -> TVMError:
        return kind(
            message(
                f"{self.name}: {which} of {what} does not fit",
                found=describe(value),
                legal=str(legal),
            )
        )


def describe(value: Value) -> str:
    """A value as messages show it: shape and dtype of an array, the kind of anything else."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    if isinstance(value, (int, float, str, Shape)):
        return repr(value)
    return f"a {type(value).__name__}"


def _value(arg: Any) -> Value:
    """An argument as the interpreter holds it; tensors of a runtime share their memory."""
    if isinstance(arg, np.ndarray) or arg is None or isinstance(arg, (int, float, str, Shape)):
        return arg
    if isinstance(arg, np.generic):
        return np.asarray(arg)
    if isinstance(arg, (tuple, list)):
        return tuple(_value(part) for part in arg)
    if hasattr(arg, "numpy"):
        return arg.numpy()
    if hasattr(arg, "__dlpack__"):
        return np.from_dlpack(arg)
    return arg


def _for_runtime(value: Value) -> Any:
    if isinstance(value, np.ndarray):
        from tvm.runtime import tensor  # only packed functions need the runtime

        return tensor(value)
    return value


def _typed(result: Value, info: StructInfo | None) -> Value:
    """A result as compact arrays of the dtypes that the struct info promises."""
    if isinstance(info, TensorStructInfo):
        dtype = None if info.dtype is VOID else numpy_dtype(info.dtype)
        return np.asarray(result, dtype, order="C")
    if isinstance(info, TupleStructInfo) and isinstance(result, (tuple, list)):
        return tuple(_typed(part, field) for part, field in zip(result, info.fields))
    if isinstance(info, ShapeStructInfo) and isinstance(result, (tuple, list)):
        return Shape(result)
    return result


def _one_or_tuple(outs: list[Any], info: StructInfo) -> Value:
    return tuple(outs) if isinstance(info, TupleStructInfo) else outs[0]


def _call_tir(frame: _Frame, call: Call) -> Value:
    args = list(frame.eval(call.args[1]))
    outs = frame.outputs(call.sinfo_args[0])
    extra = list(frame.eval(call.args[2])) if len(call.args) > 2 else []
    frame.apply(call.args[0], [*args, *outs, *extra])
    return _one_or_tuple(outs, call.sinfo_args[0])


def _call_tir_inplace(frame: _Frame, call: Call) -> Value:
    args = list(frame.eval(call.args[1]))
    indices = call.attrs.inplace_indices  # type: ignore[union-attr]
    infos = call.sinfo_args[0]
    fields = infos.fields if isinstance(infos, TupleStructInfo) else (infos,)
    fresh = [o for i, f in zip(indices, fields) if i == -1 for o in frame.outputs(f)]
    # a variable may hold the operand still: what is overwritten is a copy of it
    args = [np.array(a) if i in indices else a for i, a in enumerate(args)]
    extra = list(frame.eval(call.args[2])) if len(call.args) > 2 else []
    frame.apply(call.args[0], [*args, *fresh, *extra])
    new = iter(fresh)
    outs = [next(new) if i == -1 else args[i] for i in indices]
    return _one_or_tuple(outs, infos)


def _call_dps(frame: _Frame, call: Call) -> Value:
    args = list(frame.eval(call.args[1]))
    outs = frame.outputs(call.sinfo_args[0])
    frame.apply(call.args[0], [*args, *outs])
    return _one_or_tuple(outs, call.sinfo_args[0])


def _call_py(frame: _Frame, call: Call) -> Value:
    return frame.packed(frame.eval(call.args[0]), list(frame.eval(call.args[1])))


def _call_packed(frame: _Frame, call: Call) -> Value:
    return frame.apply(call.args[0], [frame.eval(arg) for arg in call.args[1:]])


def _call_builtin(frame: _Frame, call: Call) -> Value:
    return frame.apply(call.args[0], list(frame.eval(call.args[1])))


def _make_closure(frame: _Frame, call: Call) -> Value:
    return _closure(frame, frame.eval(call.args[0]), tuple(frame.eval(call.args[1])))


def _closure(frame: _Frame, callee: Value, bound: tuple[Value, ...]) -> Closure:
    func = frame.interp.mod[callee] if isinstance(callee, GlobalVar) else callee
    if isinstance(func, Closure):
        return Closure(func.func, func.values, func.symbols, bound)
    if not isinstance(func, Function):
        raise TVMError(f"{frame.name}: a closure is made of a Relax function, found {callee}")
    return Closure(func, {}, {}, bound)


def _invoke_closure(frame: _Frame, call: Call) -> Value:
    return frame.invoke(frame.eval(call.args[0]), list(frame.eval(call.args[1])))


def _text(frame: _Frame, operands: Sequence[RelaxExpr], without: str) -> str:
    """The text of a format string and its values, or of the values alone."""
    values = [frame.eval(operand) for operand in operands]
    if not values:
        return without
    if isinstance(values[0], str) and values[0]:
        return values[0].format(*values[1:])
    return " ".join(str(value) for value in values[1:]) or without


def _print(frame: _Frame, call: Call) -> Value:
    print(_text(frame, call.args, ""))
    return ()


def _assert(frame: _Frame, call: Call) -> Value:
    if not bool(frame.eval(call.args[0])):
        detail = _text(frame, call.args[1:], "")
        raise AssertionFailed("Assertion Failed" + (f": {detail}" if detail else ""))
    return ()


_CALLS: Final[dict[str, Callable[[_Frame, Call], Value]]] = {
    "relax.call_tir": _call_tir,
    "relax.call_tir_with_grad": _call_tir,
    "relax.call_tir_inplace": _call_tir_inplace,
    "relax.call_dps_packed": _call_dps,
    "relax.call_py_func": _call_py,
    "relax.call_pure_packed": _call_packed,
    "relax.call_inplace_packed": _call_packed,
    "relax.call_builtin_with_ctx": _call_builtin,
    "relax.make_closure": _make_closure,
    "relax.invoke_closure": _invoke_closure,
    "relax.invoke_pure_closure": _invoke_closure,
    "relax.print": _print,
    "relax.assert_op": _assert,
}


def _make_bound(frame: _Frame, args: list[Value]) -> Value:
    return _closure(frame, args[0], tuple(args[1:]))


def _call_tir_dyn(frame: _Frame, args: list[Value]) -> Value:
    return frame.apply(args[0], [*args[1:-1], *args[-1]])


# Functions of the virtual machine that call others, or give shapes.
_PACKED: Final[dict[str, Callable[[_Frame, list[Value]], Value]]] = {
    "vm.builtin.make_closure": _make_bound,
    "vm.builtin.invoke_closure": lambda frame, args: frame.invoke(args[0], args[1:]),
    "vm.builtin.call_tir_dyn": _call_tir_dyn,
    "vm.builtin.call_py_func": lambda frame, args: frame.packed(args[0], args[1:]),
    "vm.builtin.make_shape": lambda frame, args: Shape(made_shape(*args)),
    "vm.builtin.shape_of": lambda frame, args: Shape(args[0].shape),
    "vm.builtin.tensor_to_shape": lambda frame, args: Shape(int(n) for n in args[0]),
}


def _function_value(frame: _Frame, func: Function) -> Value:
    return Closure(func, frame.values, frame.symbols)


_RULES: Final[dict[type, Callable[[_Frame, Any], Value]]] = {
    Var: _Frame._var,
    DataflowVar: _Frame._var,
    Constant: lambda frame, e: e.data.numpy(),
    Tuple: lambda frame, e: tuple(frame.eval(field) for field in e.fields),
    TupleGetItem: _Frame._item,
    ShapeExpr: lambda frame, e: Shape(int(frame.number(v)) for v in e.values),
    PrimValue: lambda frame, e: frame.number(e.value),
    StringImm: lambda frame, e: e.value,
    DataTypeImm: lambda frame, e: e.value,
    GlobalVar: lambda frame, e: e,
    ExternFunc: lambda frame, e: lambda *args: frame.packed(e.global_symbol, list(args)),
    Call: _Frame._call,
    SeqExpr: _Frame._seq,
    If: _Frame._if,
    Function: _function_value,
}


def run(mod_or_func: IRModule | Function, *args: Any, name: str = "main", **packed: Any) -> Value:
    """The result of a function, or of the function `name` of a module, for these arguments."""
    if isinstance(mod_or_func, Function):
        mod_or_func = IRModule({GlobalVar(name): mod_or_func})
    return Interpreter(mod_or_func, packed).run(name, *args)

