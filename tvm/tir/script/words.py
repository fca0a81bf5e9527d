"""All words of `T` that build programs: frames, data types, operators, nodes.

Data types of any width and the operators without a Python function of their own are found by name.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.ir.expr import GlobalVar, PrimExpr, Range
from tvm.ir.op import OPS, Op
from tvm.ir.type import TensorMapType, TupleType
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import op as _op
from tvm.tir.expr import (
    EQ,
    GE,
    GT,
    LE,
    LT,
    NE,
    Add,
    And,
    Broadcast,
    BufferLoad,
    Call,
    CallEffectKind,
    Cast,
    CommReducer,
    Div,
    FloatImm,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Max,
    Min,
    Mod,
    Mul,
    Not,
    Or,
    PrimExprWithOp,
    ProducerLoad,
    Ramp,
    Reduce,
    Select,
    Shuffle,
    SizeVar,
    StringImm,
    Sub,
    Var,
    as_expr,
)
from tvm.tir.index_map import IndexMap
from tvm.tir.op import arith

from .builder import (
    Assert,
    Else,
    If,
    Let,
    LetStmt,
    Then,
    While,
    alloc_buffer,
    allocate,
    allocate_const,
    arg,
    as_type,
    attr,
    axis,
    block,
    block_attr,
    buffer,
    buffer_decl,
    buffer_store,
    decl_buffer,
    env_thread,
    evaluate,
    func_attr,
    func_name,
    func_ret,
    grid,
    init,
    launch_thread,
    let,
    match_buffer,
    parallel,
    prim_func,
    reads,
    realize,
    serial,
    thread_binding,
    unroll,
    vectorized,
    where,
    writes,
)
from .dtypes import buffer_var, dtype_names, find_dtype, func_gen, handle, ptr, var, void
from .printer.names import ITER_TYPES


def min(a: Any, b: Any) -> PrimExpr:
    """The smaller of two values."""
    return arith.min_of(a, b)


def max(a: Any, b: Any) -> PrimExpr:
    """The larger of two values."""
    return arith.max_of(a, b)


def iter_var(v: Var | str, dom: Any, iter_type: str, thread_tag: str) -> IterVar:
    """An iteration variable."""
    if iter_type not in ITER_TYPES:
        raise ValueError(f"unknown iteration type {iter_type!r}; legal: {', '.join(ITER_TYPES)}")
    return IterVar(dom, v, ITER_TYPES.index(iter_type), thread_tag)


def comm_reducer(combiner: Callable[..., Any], identity: Sequence[Any]) -> CommReducer:
    """A reduction by a function of two partial results, and what nothing reduces to."""
    names = list(inspect.signature(combiner).parameters)
    starts = [as_expr(value) for value in identity]
    variables = [Var(name, start.dtype) for name, start in zip(names, [*starts, *starts])]
    result = combiner(*variables)
    results = result if isinstance(result, (tuple, list)) else (result,)
    half = len(names) // 2
    return CommReducer(variables[:half], variables[half:], results, starts)


def reduce(
    combiner: CommReducer,
    source: Sequence[Any],
    init: Sequence[Any],
    axis: Sequence[IterVar],
    condition: Any,
    value_index: int,
) -> Reduce:
    """One value of a reduction."""
    return Reduce(combiner, source, axis, as_expr(condition), value_index, init)


def index_map(
    mapping: Callable[..., Any],
    *,
    inverse_index_map: Callable[..., Any] | None = None,
    index_dtype: str = "int64",
) -> IndexMap:
    """A map from indices to indices."""
    return IndexMap.from_func(
        mapping, inverse_index_map=inverse_index_map, index_dtype=index_dtype
    )


def target(
    target_config: Mapping[str, Any] | str, host: Mapping[str, Any] | str | Target | None = None
) -> Target:
    """A target by its string or its dict."""
    if not isinstance(target_config, (str, Mapping)):
        raise ValueError(
            f"T.target expected a config dict or string, but got {type(target_config)}"
        )
    return Target(target_config, host)


def TensorMap() -> Var:
    """A descriptor for bulk tensor copies."""
    return Var("", TensorMapType())


def Tuple(*fields: Any) -> TupleType:
    """The type of several values."""
    return TupleType([as_type(field) for field in fields])


class meta_var:
    """A Python value that the parser keeps as it is: no let binding is made for it."""

    def __init__(self, value: Any) -> None:
        self.value: Final = value

    def __iter__(self) -> Any:
        return iter(meta_var(item) for item in self.value)


class OpWord:
    """A call of an operator that has no function of its own."""

    __slots__ = ("op",)

    def __init__(self, op: Op) -> None:
        self.op: Final = op

    def __call__(self, *args: Any, dtype: Any = None) -> PrimExpr:
        location = self.op.get_attr("TScriptDtypePrintLocation")
        given = list(args)
        if dtype is None and location == "first":
            dtype = given.pop(0)
        elif dtype is None and location == "last":
            dtype = given.pop()
        if dtype is None:
            dtype = self._dtype(given)
        return Call(DataType(dtype), self.op, given)

    def _dtype(self, args: Sequence[Any]) -> DataType:
        pure = self.op.get_attr("TCallEffectKind") == CallEffectKind.Pure
        return as_expr(args[0]).dtype if pure and args else DataType("int32")


def _with_dtype(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function as scripts call it: any call may end with the `dtype=` of its result."""
    first = next(iter(inspect.signature(func).parameters), "")

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "dtype" in kwargs and (first == "dtype" or "dtype" not in _parameters(func)):
            dtype = kwargs.pop("dtype")
            if first == "dtype":
                return func(dtype, *args, **kwargs)
        return func(*args, **kwargs)

    return call


# both spellings are in use
broadcast = Broadcast
ramp = Ramp


def _parameters(func: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(func).parameters


def find_op(name: str) -> Any:
    """The operator `T.<name>`: its function, or a word that makes the call."""
    func = getattr(_op, name, None) if name in _op.__all__ else None
    if func is not None:
        return _with_dtype(func) if callable(func) else func
    op = OPS.find(f"tir.{name}")
    if op is None:
        dotted = name.replace("cuda_", "cuda.").replace("metal_", "metal.")
        op = OPS.find(f"tir.{dotted}")
    return None if op is None else OpWord(op)


_PRIVATE: Final = frozenset({"arith", "builtin", "declare", "gpu", "math"})


def word(name: str) -> Any:
    """The word `T.<name>`; what this module needs for itself is none."""
    if name in __all__:
        return globals()[name]
    if name == "call_kernel":
        from .external_kernel import call_kernel  # needs the runtime

        return call_kernel
    if name == "llvm_lookup_intrinsic_id":
        from tvm.target.codegen import llvm_lookup_intrinsic_id  # needs the runtime

        return llvm_lookup_intrinsic_id
    if not name.startswith("_") and name not in _PRIVATE:
        found = find_dtype(name) or find_op(name)
        if found is not None:
            return found
    raise AttributeError(f"T has no word {name!r}")


def __getattr__(name: str) -> Any:
    return word(name)


def __dir__() -> list[str]:
    late = ("call_kernel", "llvm_lookup_intrinsic_id")
    return sorted({*__all__, *late, *dtype_names(), *_op.__all__})


__all__ = [
    "EQ", "GE", "GT", "LE", "LT", "NE", "Add", "And", "Assert", "Broadcast", "BufferLoad", "Call",
    "CallEffectKind", "Cast", "CommReducer", "Div", "Else", "FloatImm", "FloorDiv", "FloorMod",
    "GlobalVar", "If", "IndexMap", "IntImm", "IterVar", "Let", "LetStmt", "Max", "Min", "Mod",
    "Mul", "Not", "Or", "PrimExprWithOp", "ProducerLoad", "Ramp", "Range", "Reduce", "Select",
    "Shuffle", "SizeVar", "StringImm", "Sub", "TensorMap", "Then", "Tuple", "Var", "While",
    "alloc_buffer",
    "allocate", "allocate_const", "arg", "attr", "axis", "block", "block_attr", "broadcast",
    "buffer",
    "buffer_decl", "buffer_store", "buffer_var", "comm_reducer", "decl_buffer", "env_thread",
    "evaluate", "func_attr", "func_gen", "func_name", "func_ret", "grid", "handle", "index_map",
    "init", "iter_var", "launch_thread", "let", "match_buffer", "max", "meta_var", "min",
    "parallel", "prim_func", "ptr", "ramp", "reads", "realize", "reduce", "serial", "target",
    "thread_binding", "unroll", "var", "vectorized", "void", "where", "writes",
]  # fmt: skip
