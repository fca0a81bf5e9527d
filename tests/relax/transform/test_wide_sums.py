"""Sums of half floats in single precision."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest

import tvm
from tests.relax.programs import calls, run_compiled
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.transform.rebuild import all_bindings
from tvm.relax.transform.wide_sums import WideSums
from tvm.script import from_source
from tvm.target import Target
from tvm.target.cpu_model import CpuModel

RNG = np.random.default_rng(3)
HASWELL = Target({"kind": "llvm", "mcpu": "haswell"}).cpu
COOPERLAKE = Target({"kind": "llvm", "mcpu": "cooperlake"}).cpu


def _module(
    make: Callable[..., relax.Expr], *shapes: tuple[int, ...], dtype: str = "float16"
) -> IRModule:
    bb = relax.BlockBuilder()
    params = [relax.Var(f"x{n}", relax.TensorStructInfo(s, dtype)) for n, s in enumerate(shapes)]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(make(*params))
        bb.emit_func_output(out)
    return bb.get()


def _main(mod: IRModule) -> relax.Function:
    main = mod["main"]
    assert isinstance(main, relax.Function)
    return main


@pytest.mark.pure
def test_operands_and_sums_are_widened() -> None:
    before = _module(op.matmul, (8, 5), (5, 3))
    expected = from_source("""
from tvm.script import ir as I
from tvm.script import relax as R

@I.ir_module
class Expected:
    @R.function
    def main(x0: R.Tensor((8, 5), "float16"), x1: R.Tensor((5, 3), "float16")):
        with R.dataflow():
            lv = R.astype(x0, dtype="float32")
            lv1 = R.astype(x1, dtype="float32")
            lv2 = R.matmul(lv, lv1)
            gv = R.astype(lv2, dtype="float16")
            R.output(gv)
        return gv
""")  # fmt: skip
    tvm.ir.assert_structural_equal(WideSums(HASWELL)(before), expected)


@pytest.mark.pure
@pytest.mark.parametrize(
    ("rows", "dtype", "cpu"), [(1, "float16", HASWELL), (8, "bfloat16", COOPERLAKE)]
)
def test_operands_stay_where_they_are_only_read_or_multiplied_as_they_are(
    rows: int, dtype: str, cpu: CpuModel
) -> None:
    after = WideSums(cpu)(_module(op.matmul, (rows, 5), (5, 3), dtype=dtype))
    assert calls(after) == ["relax.matmul", "relax.astype"]
    product, result = all_bindings(_main(after))
    assert getattr(product.value.struct_info, "dtype", None) == "float32"
    assert getattr(result.value.struct_info, "dtype", None) == dtype


@pytest.mark.pure
def test_what_sums_nothing_or_is_wide_stays() -> None:
    relu = _module(op.nn.relu, (8, 5))
    assert WideSums(HASWELL)(relu)["main"] is relu["main"]
    single = _module(op.matmul, (8, 5), (5, 3), dtype="float32")
    assert WideSums(HASWELL)(single)["main"] is single["main"]


@pytest.mark.pure
def test_a_wide_result_takes_wide_operands() -> None:
    def product(x: relax.Expr, y: relax.Expr) -> relax.Expr:
        return op.matmul(x, y, out_dtype="float32")

    after = WideSums(HASWELL)(_module(product, (8, 5), (5, 3)))
    assert calls(after) == ["relax.astype", "relax.astype", "relax.matmul"]


CASES: dict[str, tuple[Callable[..., relax.Expr], tuple[tuple[int, ...], ...]]] = {
    "matmul": (op.matmul, ((8, 900), (900, 16))),
    "one row": (op.matmul, ((1, 900), (900, 16))),
    "batches": (op.matmul, ((3, 2, 300), (3, 300, 16))),
    "conv2d": (lambda x, w: op.nn.conv2d(x, w, padding=1), ((1, 64, 9, 9), (8, 64, 3, 3))),
    "sum": (lambda x: op.sum(x, 1), ((4, 3000),)),
    "mean": (lambda x: op.mean(x, 1), ((4, 3000),)),
    "cumsum": (lambda x: op.cumsum(x, 1, x.struct_info.dtype), ((2, 2000),)),
    "average": (lambda x: op.nn.avg_pool2d(x, (16, 16)), ((1, 2, 16, 16),)),
    "softmax": (op.nn.softmax, ((3, 2000),)),
    "layer norm": (lambda x, g, b: op.nn.layer_norm(x, g, b, -1), ((3, 900), (900,), (900,))),
    "attention": (op.nn.attention, ((1, 40, 2, 64), (1, 40, 2, 64), (1, 40, 2, 64))),
    "einsum": (lambda x, y: op.einsum((x, y), "ij,kj->ik"), ((8, 900), (4, 900))),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("case", CASES)
def test_long_sums_are_as_exact_as_their_rounding(case: str, dtype: str) -> None:
    make, shapes = CASES[case]
    narrow = np.dtype(dtype if dtype == "float16" else ml_dtypes.bfloat16)
    values = [RNG.uniform(0, 1, shape).astype(narrow) for shape in shapes]
    wide = [value.astype("float32") for value in values]
    exact = run_compiled(_module(make, *shapes, dtype="float32"), wide)
    given = [tvm.runtime.tensor(value) for value in values]
    found = run_compiled(_module(make, *shapes, dtype=dtype), given)
    assert found.dtype == narrow
    half_unit = {"float16": 2.0**-11, "bfloat16": 2.0**-8}[dtype]
    np.testing.assert_allclose(found.astype("float32"), exact, rtol=1.02 * half_unit, atol=1e-6)
