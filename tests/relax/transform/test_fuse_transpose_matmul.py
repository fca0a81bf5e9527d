from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import RelaxPassTest
from tvm import te
from tvm.ir.structural import assert_structural_equal
from tvm.relax.transform import FuseTransposeMatmul
from tvm.relax.transform.fuse_transpose_matmul import FuseTransposeMatvec, transposed_matmul
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.tir.interp import run

pytestmark = pytest.mark.pure


class TestOneKernel(RelaxPassTest):
    run = FuseTransposeMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((6, 8), "float32")):
            with R.dataflow():
                wt = R.permute_dims(w, [1, 0])
                out = R.matmul(x, wt)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def NT_matmul(
            x: T.Buffer((T.int64(4), T.int64(8)), "float32"),
            w: T.Buffer((T.int64(6), T.int64(8)), "float32"),
            NT_matmul: T.Buffer((T.int64(4), T.int64(6)), "float32"),
        ):
            T.func_attr({"tir.noalias": True})
            for i0, i1, k in T.grid(T.int64(4), T.int64(6), T.int64(8)):
                with T.block("NT_matmul"):
                    v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                    with T.init():
                        NT_matmul[v_i0, v_i1] = T.float32(0)
                    NT_matmul[v_i0, v_i1] = NT_matmul[v_i0, v_i1] + x[v_i0, v_k] * w[v_i1, v_k]

        @R.function
        def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((6, 8), "float32")):
            cls = Expected
            with R.dataflow():
                out = R.call_tir(cls.NT_matmul, (x, w), out_sinfo=R.Tensor((4, 6), "float32"))
                R.output(out)
            return out


class TestOfOtherAxesStays(RelaxPassTest):
    run = FuseTransposeMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 4, 8), "float32"), w: R.Tensor((8, 2, 6), "float32")):
            with R.dataflow():
                wt = R.permute_dims(w, [1, 0, 2])
                out = R.matmul(x, wt)
                R.output(out)
            return out

    Expected = Before


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 5), (4, 5)), ((5,), (4, 5)), ((2, 3, 5), (4, 5)), ((1, 3, 5), (2, 4, 5)),
     ((2, 1, 3, 5), (3, 4, 5)), ((5,), (2, 4, 5))],
)  # fmt: skip
def test_shapes(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    x, w = te.placeholder(a, name="x"), te.placeholder(b, name="w")
    y = transposed_matmul(x, w)
    rng = np.random.default_rng(0)
    one, other = rng.random(a, "float32"), rng.random(b, "float32")
    wanted = np.matmul(one, np.swapaxes(other, -1, -2))
    found = np.zeros(wanted.shape, "float32")
    run(te.create_prim_func([x, w, y]), one, other, found)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_nothing_moves_across_an_impure_call() -> None:
    @I.ir_module
    class Mod:
        @R.function(pure=False)
        def main(x: R.Tensor((1, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            early = R.permute_dims(w)
            _ = R.call_packed("change", w, sinfo_args=R.Tuple())
            late = R.permute_dims(w)
            a = R.matmul(x, early)
            b = R.matmul(x, late)
            return (a, b)

    values = [b.value for b in FuseTransposeMatvec()(Mod)["main"].body.blocks[0].bindings]
    names = [getattr(value.op, "name", "change") for value in values]
    assert names == ["relax.permute_dims", "change", "relax.matmul", "relax.call_tir"]


def test_products_outside_of_dataflow_stay() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            wt = R.permute_dims(w)
            y = R.matmul(x, wt)
            return y

    assert_structural_equal(FuseTransposeMatmul()(Mod), Mod)


def test_of_single_rows_only() -> None:
    """The CPU pipeline reads weights of single rows as they lie, and leaves others to be packed."""

    @I.ir_module
    class Module:
        @R.function
        def one(x: R.Tensor((1, 1, 8), "float32"), w: R.Tensor((6, 8), "float32")):
            with R.dataflow():
                wt = R.permute_dims(w, [1, 0])
                out = R.matmul(x, wt)
                R.output(out)
            return out

        @R.function
        def many(x: R.Tensor((1, "n", 8), "float32"), w: R.Tensor((6, 8), "float32")):
            with R.dataflow():
                wt = R.permute_dims(w, [1, 0])
                out = R.matmul(x, wt)
                R.output(out)
            return out

    found = FuseTransposeMatvec()(Module)
    assert "permute_dims" not in found["one"].script()
    assert "NT_matmul" in found["one"].script()
    assert found["many"].script() == Module["many"].script()
