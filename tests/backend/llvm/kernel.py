"""Kernels written as TIR by hand, compiled, and called on numpy arrays by their address."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tvm.ir.module import IRModule
from tvm.ir.transform import Sequential
from tvm.ir.type import PrimType
from tvm.runtime.module import Module
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.build import codegen_build
from tvm.tir.function import PrimFunc
from tvm.tir.op import builtin
from tvm.tir.pipeline import host_code_passes
from tvm.tir.transform.legalize_narrow_floats import LegalizeNarrowFloats

TARGET = "llvm"  # what programs are compiled for; the tests of other backends set it


def i32(value: int) -> e.IntImm:
    return e.IntImm("int32", value)


def vector(base: object, lanes: int, stride: int = 1) -> e.PrimExpr:
    """base, base + stride, ...; the base itself for one lane."""
    start = e.as_expr(base)
    return start if lanes == 1 else e.Ramp(start, i32(stride), i32(lanes))


def kernel(
    buffers: Sequence[Buffer], body: s.Stmt, name: str = "kernel", **attrs: object
) -> PrimFunc:
    """A function over the addresses of buffers."""
    given = {"global_symbol": name, "tir.noalias": True, **attrs}
    return PrimFunc([b.data for b in buffers], body, attrs=given)


def lowered(functions: Mapping[str, PrimFunc]) -> IRModule:
    """The functions in the form that emitters take."""
    return Sequential(host_code_passes())(IRModule(dict(functions)))


def built(functions: dict, target: str | None = None) -> Module:
    """The machine code of functions by name."""
    chosen = Target(target or TARGET)
    bound = {name: func.with_attr("target", chosen) for name, func in functions.items()}
    return codegen_build(LegalizeNarrowFloats()(IRModule(bound)), chosen)


def compiled(*funcs: PrimFunc, target: str | None = None) -> Module:
    """The machine code of functions, under their symbols."""
    return built({str(f.attrs["global_symbol"]): f for f in funcs}, target)


def call(module: Module, *arrays: np.ndarray, name: str = "kernel") -> int:
    """Call a function on arrays; its status."""
    signature = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * len(arrays))
    return int(signature(module.address(name))(*[a.ctypes.data for a in arrays]))


def buffers_for(arrays: Sequence[np.ndarray]) -> list[Buffer]:
    """One flat buffer for each array."""
    return [
        decl_buffer((int(a.size),), str(DataType(a.dtype)), f"B{n}") for n, a in enumerate(arrays)
    ]


def run(make_body: Callable[..., s.Stmt], *arrays: np.ndarray) -> int:
    """Compile `make_body(*buffers)` and call it on the arrays."""
    buffers = buffers_for(arrays)
    return call(compiled(kernel(buffers, make_body(*buffers))), *arrays)


def evaluate(make: Callable[..., e.PrimExpr], *inputs: np.ndarray, lanes: int = 1) -> np.ndarray:
    """make(x, y, ...) for each element (each group of `lanes`), as an array."""
    return evaluate_all([(make, *inputs)], lanes=lanes)[0]


def evaluate_all(rows: Iterable[tuple[Any, ...]], lanes: int = 1) -> list[np.ndarray]:
    """`evaluate(*row)` of rows `(make, x, y, ...)`, all in one module: compilers start slowly."""
    made = [_elementwise(f"kernel{n}", lanes, *row) for n, row in enumerate(rows)]
    module = compiled(*[func for func, _ in made])
    for n, (_, arrays) in enumerate(made):
        assert call(module, *arrays, name=f"kernel{n}") == 0
    return [arrays[-1] for _, arrays in made]


def _elementwise(
    name: str, lanes: int, make: Callable[..., e.PrimExpr], *inputs: np.ndarray
) -> tuple[PrimFunc, tuple[np.ndarray, ...]]:
    """A function that stores make(x, y, ...), and its arguments: the inputs and the output."""
    buffers = buffers_for(inputs)
    i = e.Var("i", "int32")
    index = vector(e.Mul(i, i32(lanes)) if lanes > 1 else i, lanes)
    value = make(*[e.BufferLoad(b, [index]) for b in buffers])
    element = value.dtype.element_of()
    out_type = np.bool_ if element.is_bool else _numpy(element)
    out = np.zeros(inputs[0].size, out_type)
    target = decl_buffer((out.size,), str(element), "out")
    store = s.BufferStore(target, value, [index])
    body = s.For(i, 0, inputs[0].size // lanes, s.ForKind.SERIAL, store)
    return kernel([*buffers, target], body, name), (*inputs, out)


def _numpy(element: DataType) -> np.dtype:
    if element.is_floating and not element.is_float:
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, str(element)))
    return np.dtype(str(element))


def packed(name: str, count: int, make_body: Callable[..., s.Stmt], *dtypes: str) -> PrimFunc:
    """A packed function of tensors with 64 elements, which checks the number of arguments."""
    names = ("self", "args", "num_args", "result")
    self_, args, num, result = [e.Var(n, "int32" if n == "num_args" else "handle") for n in names]
    buffers = [decl_buffer((64,), dtype, f"B{i}") for i, dtype in enumerate(dtypes)]
    scope = s.AttrStmt(e.StringImm(name), "compute_scope", e.StringImm(name), make_body(*buffers))
    body: s.Stmt = scope
    for i, buffer in reversed(list(enumerate(buffers))):
        tensor = e.Var(f"tensor{i}", "handle")
        data = builtin.tvm_struct_get(tensor, 0, 1, "handle")
        found = builtin.handle_add_byte_offset(builtin.tvm_struct_get(args, i, 15, "handle"), 24)
        body = s.LetStmt(tensor, found, s.LetStmt(buffer.data, data, body))
    words = f"TypeError: {name}: {{}} arguments given, legal: {{}}"
    told = builtin.tvm_tuple(e.StringImm(words), num, i32(count))
    body = s.AssertStmt(e.EQ(num, i32(count)), told, body)
    attrs = {"calling_conv": 1, "global_symbol": f"__tvm_ffi_{name}"}
    return PrimFunc([self_, args, num, result], body, PrimType("int32"), attrs=attrs)
