"""A call of an operator and what numpy (or torch) makes of the same arrays.

case("sum", [floats(2, 3)], lambda a: a.sum(1), axis=1)

Every case is compiled by LLVM, with the extents of its arrays and with variables in their place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tvm
from tvm import te, tir, topi

Array = Any
TARGET = "llvm -mcpu=x86-64-v3"  # what is compared does not depend on the machine
TOLERANCE = {"float16": 1e-2, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-7}


@dataclass(frozen=True)
class Case:
    """`name` below `tvm.topi`; equal extents of the inputs become one variable if `symbolic`."""

    name: str
    inputs: Sequence[Array]
    wanted: Callable[..., Any]
    call: Callable[..., Any]
    tolerance: float | None
    symbolic: bool
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        arrays = ", ".join(f"{a.dtype}{list(a.shape)}" for a in self.inputs)
        return f"{self.name}({arrays}) {self.options}"


def case(
    name: str, inputs: Sequence[Array], wanted: Callable[..., Any],
    call: Callable[..., Any] | None = None, tolerance: float | None = None, symbolic: bool = True,
    **options: Any,
) -> Case:  # fmt: skip
    function: Any = topi
    for part in name.split("."):
        function = getattr(function, part)
    arrays = [np.array(a, order="C") for a in inputs]
    return Case(name, arrays, wanted, call or function, tolerance, symbolic, options)


def floats(*shape: int, dtype: Any = "float32", low: float = -2, high: float = 2) -> Array:
    return np.random.default_rng(len(shape)).uniform(low, high, shape).astype(dtype)


def ints(*shape: int, dtype: Any = "int32", low: int = -5, high: int = 6) -> Array:
    return np.random.default_rng(sum(shape)).integers(low, high, shape).astype(dtype)


def numbers(*shape: int, dtype: Any) -> Array:
    """Numbers from 0 to 4 that every type holds."""
    if dtype == "bool":
        return ints(*shape, low=0, high=2).astype(bool)
    whole = np.dtype(dtype).kind in "iu"
    make = ints(*shape, low=0, high=5) if whole else floats(*shape, low=0, high=4)
    return make.astype(dtype)


def tensors(of: Case, symbolic: bool) -> list[te.Tensor]:
    """Placeholders for the arrays."""
    known: dict[int, tir.Var] = {}

    def extent(n: int) -> Any:
        return known.setdefault(n, te.size_var(f"n{n}", "int64")) if symbolic and n > 1 else n

    return [
        te.placeholder([extent(n) for n in a.shape], str(a.dtype), f"in{k}")
        for k, a in enumerate(of.inputs)
    ]


def outputs(of: Case, symbolic: bool = False) -> tuple[list[te.Tensor], list[te.Tensor]]:
    """What the operator takes, and what it makes of it."""
    ins = tensors(of, symbolic)
    made = of.call(*ins, **of.options)
    return ins, list(made) if isinstance(made, (list, tuple)) else [made]


def check_all(cases: Sequence[Case]) -> None:
    """Compile the cases as functions of one module, run them, compare shapes, types and numbers."""
    made = [
        (of, symbolic, *outputs(of, symbolic))
        for of in cases
        for symbolic in ((False, True) if of.symbolic else (False,))
    ]
    functions = {
        f"f{k}": te.create_prim_func([*ins, *outs]).with_attr("global_symbol", f"f{k}")
        for k, (_, _, ins, outs) in enumerate(made)
    }
    library = tvm.compile(tvm.IRModule(functions), TARGET)
    for k, (of, symbolic, _, outs) in enumerate(made):
        result = of.wanted(*of.inputs)
        several = isinstance(result, (list, tuple))
        wanted = [np.asarray(a) for a in (result if several else [result])]
        where = f"{of}{' with symbolic extents' if symbolic else ''}"
        assert [str(t.dtype) for t in outs] == [str(w.dtype) for w in wanted], where
        if not symbolic:
            shapes = [tuple(int(n) for n in t.shape) for t in outs]
            assert shapes == [w.shape for w in wanted], where
        found = [tvm.runtime.tensor(np.zeros_like(w, order="C")) for w in wanted]
        library[f"f{k}"](*[tvm.runtime.tensor(a) for a in of.inputs], *found)
        for got, want in zip(found, wanted):
            close(got.numpy(), want, of.tolerance, where)


def close(got: Array, wanted: Array, tolerance: float | None, where: str) -> None:
    near = TOLERANCE.get(str(wanted.dtype), 0) if tolerance is None else tolerance
    if wanted.dtype.name == "bfloat16":
        got, wanted = got.astype("float32"), wanted.astype("float32")
    np.testing.assert_allclose(got, wanted, rtol=near, atol=near, err_msg=where)
