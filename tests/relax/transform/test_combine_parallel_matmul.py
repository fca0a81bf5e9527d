from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from tests.relax.programs import RelaxPassTest
from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.relax.transform import CombineParallelMatmul
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


class TestThreeProducts(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((2, 6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((8, 5), "float32"),
            w2: R.Tensor((8, 3), "float32"),
        ):
            with R.dataflow():
                lv0 = R.matmul(x, w0)
                lv1 = R.matmul(x, w1)
                lv2 = R.matmul(x, w2)
                out = (lv0, lv1, lv2)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((2, 6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((8, 5), "float32"),
            w2: R.Tensor((8, 3), "float32"),
        ):
            with R.dataflow():
                lv = R.concat((w0, w1, w2), axis=1)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.split(lv1, indices_or_sections=[4, 9], axis=2)
                lv0_ = lv2[0]
                lv1_ = lv2[1]
                lv2_ = lv2[2]
                out = (lv0_, lv1_, lv2_)
                R.output(out)
            return out


class TestBiasAndActivation(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((8, 5), "float32"),
            b0: R.Tensor((4,), "float32"),
            b1: R.Tensor((5,), "float32"),
        ):
            with R.dataflow():
                m0 = R.matmul(x, w0)
                a0 = R.add(m0, b0)
                r0 = R.nn.relu(a0)
                m1 = R.matmul(x, w1)
                a1 = R.add(m1, b1)
                r1 = R.nn.relu(a1)
                out = (r0, r1)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((8, 5), "float32"),
            b0: R.Tensor((4,), "float32"),
            b1: R.Tensor((5,), "float32"),
        ):
            with R.dataflow():
                lv = R.concat((w0, w1), axis=1)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.concat((b0, b1), axis=0)
                lv3 = R.add(lv1, lv2)
                lv4 = R.nn.relu(lv3)
                lv5 = R.split(lv4, indices_or_sections=[4], axis=1)
                r0 = lv5[0]
                r1 = lv5[1]
                out = (r0, r1)
                R.output(out)
            return out


class TestItemsStandWhereTheirValuesStood(RelaxPassTest):
    """A bias that only one of the products has stays behind its product."""

    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((8, 5), "float32"),
            c0: R.Tensor((4,), "float32"),
        ):
            with R.dataflow():
                p = R.matmul(x, w0)
                p2 = R.add(p, c0)
                q = R.matmul(x, w1)
                out = (p2, q)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((8, 5), "float32"),
            c0: R.Tensor((4,), "float32"),
        ):
            with R.dataflow():
                lv = R.concat((w0, w1), axis=1)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.split(lv1, indices_or_sections=[4], axis=1)
                p = lv2[0]
                p2 = R.add(p, c0)
                q = lv2[1]
                out = (p2, q)
                R.output(out)
            return out


class TestABiasOfOne(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((8, 4), "float32"),
            b0: R.Tensor((4,), "float32"),
        ):
            with R.dataflow():
                m0 = R.matmul(x, w0)
                a0 = R.add(m0, b0)
                m1 = R.matmul(x, w1)
                out = R.add(a0, m1)
                R.output(out)
            return out


class TestWeightsOfOtherForms(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((2, 6, 8), "float32"),
            w0: R.Tensor((8, 4), "float32"),
            w1: R.Tensor((2, 8, 4), "float32"),
            w2: R.Tensor((8,), "float32"),
        ):
            with R.dataflow():
                m0 = R.matmul(x, w0)
                m1 = R.matmul(x, w1)
                m2 = R.matmul(x, w2)
                out = (m0, m1, m2)
                R.output(out)
            return out

    Expected = Before


class TestAWeightMadeInBetween(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((8, 8), "float32"), w0: R.Tensor((8, 8), "float32")):
            with R.dataflow():
                m0 = R.matmul(x, w0)
                w1 = R.exp(m0)
                m1 = R.matmul(x, w1)
                R.output(m1)
            return m1

    Expected = Before


class TestAWeightIsMadeFirst(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w0: R.Tensor((8, 4), "float32"),
                 w1: R.Tensor((3, 8), "float32")):
            with R.dataflow():
                m0 = R.matmul(x, w0)
                a0 = R.exp(m0)
                t = R.permute_dims(w1)
                u = R.negative(t)
                m1 = R.matmul(x, u)
                out = (a0, m1)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w0: R.Tensor((8, 4), "float32"),
                 w1: R.Tensor((3, 8), "float32")):
            with R.dataflow():
                t = R.permute_dims(w1)
                u = R.negative(t)
                lv = R.concat((w0, u), axis=1)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.split(lv1, indices_or_sections=[4], axis=1)
                m0 = lv2[0]
                a0 = R.exp(m0)
                m1 = lv2[1]
                out = (a0, m1)
                R.output(out)
            return out


class TestAnOpenWeightComesLast(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4
    sizes: ClassVar[dict[str, int]] = {"n": 5}

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w0: R.Tensor((8, "n"), "float32"),
                 w1: R.Tensor((8, 3), "float32")):
            with R.dataflow():
                m0 = R.matmul(x, w0)
                m1 = R.matmul(x, w1)
                out = (m0, m1)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w0: R.Tensor((8, "n"), "float32"),
                 w1: R.Tensor((8, 3), "float32")):
            with R.dataflow():
                lv = R.concat((w1, w0), axis=1)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.split(lv1, indices_or_sections=[3], axis=1)
                m0 = lv2[1]
                m1 = lv2[0]
                out = (m0, m1)
                R.output(out)
            return out


class TestBiasesWithAxesOfOne(RelaxPassTest):
    run = CombineParallelMatmul()
    tolerance = 1e-4

    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w0: R.Tensor((8, 4), "float32"),
                 w1: R.Tensor((8, 3), "float32"), b0: R.Tensor((1, 4), "float32"),
                 b1: R.Tensor((1, 3), "float32")):
            with R.dataflow():
                m0 = R.matmul(x, w0)
                a0 = R.add(m0, b0)
                m1 = R.matmul(x, w1)
                a1 = R.add(m1, b1)
                out = (a0, a1)
                R.output(out)
            return out

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w0: R.Tensor((8, 4), "float32"),
                 w1: R.Tensor((8, 3), "float32"), b0: R.Tensor((1, 4), "float32"),
                 b1: R.Tensor((1, 3), "float32")):
            with R.dataflow():
                lv = R.concat((w0, w1), axis=1)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.concat((b0, b1), axis=1)
                lv3 = R.add(lv1, lv2)
                lv4 = R.split(lv3, indices_or_sections=[4], axis=1)
                a0 = lv4[0]
                a1 = lv4[1]
                out = (a0, a1)
                R.output(out)
            return out


def test_what_is_no_row_is_added_afterwards() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w: R.Tensor((8, 8), "float32"),
                 v: R.Tensor((8, 8), "float32"), y: R.Tensor((6, 8), "float32")):
            with R.dataflow():
                m0 = R.matmul(x, w)
                a0 = R.add(m0, y)
                m1 = R.matmul(x, v)
                a1 = R.add(m1, y)
                out = (a0, a1)
                R.output(out)
            return out

    block = CombineParallelMatmul()(Mod)["main"].body.blocks[0]
    names = [str(getattr(b.value, "op", "item")) for b in block.bindings]
    assert names.count("Op(relax.matmul)") == 1
    assert names.count("Op(relax.concat)") == 1
    assert names.count("Op(relax.add)") == 2


@pytest.mark.parametrize("constant", ["weight", "bias"])
def test_products_with_constants_are_left(constant: str) -> None:
    bb = relax.BlockBuilder()
    x, w, v, y = (
        relax.Var(name, R.Tensor(shape, "float32"))
        for name, shape in (("x", (4, 8)), ("w", (8, 8)), ("v", (8, 8)), ("y", (8,)))
    )
    weight = relax.const(np.ones((8, 8), "float32")) if constant == "weight" else v
    bias = relax.const(np.ones(8, "float32")) if constant == "bias" else y
    with bb.function("main", [x, w, v, y]):
        with bb.dataflow():
            one = bb.emit(relax.op.add(bb.emit(relax.op.matmul(x, w)), y))
            other = bb.emit(relax.op.add(bb.emit(relax.op.matmul(x, weight)), bias))
            out = bb.emit_output(relax.Tuple([one, other]))
        bb.emit_func_output(out)
    mod = bb.get()
    assert_structural_equal(CombineParallelMatmul()(mod), mod)


def test_operands_that_repeat_are_left() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32"),
                 v: R.Tensor((8, 8), "float32")):
            with R.dataflow():
                a = R.matmul(x, w)
                b = R.matmul(x, v)
                c = R.matmul(x, v)
                d = R.matmul(v, v)
                e = R.matmul(v, w)
                out = (a, b, c, d, e)
                R.output(out)
            return out

    assert_structural_equal(CombineParallelMatmul()(Mod), Mod)


def test_results_that_nobody_reads_go() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor((6, 8), "float32"), w: R.Tensor((8, 8), "float32"),
                 v: R.Tensor((8, 8), "float32")):
            with R.dataflow():
                a = R.matmul(x, w)
                _b = R.matmul(x, v)
                out = R.exp(a)
                R.output(out)
            return out

    block = CombineParallelMatmul()(Mod)["main"].body.blocks[0]
    items = [b.value for b in block.bindings if isinstance(b.value, relax.TupleGetItem)]
    assert [item.index for item in items] == [0]


def test_who_is_asked() -> None:
    asked = []

    def no(x: object, weights: list[object], biases: list[object], values: Any) -> bool:
        asked.append((str(x), len(weights), len(biases), [str(var) for var in values]))
        return False

    mod = TestBiasAndActivation.Before
    assert_structural_equal(CombineParallelMatmul(no)(mod), mod)
    block = mod["main"].body.blocks[0]
    assert asked == [("x", 2, 2, [str(binding.var) for binding in block.bindings])]


def test_equal_values_become_one_where_products_are_joined() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(
            x: R.Tensor((8, 16), "float32"),
            v: R.Tensor((16, 8), "float32"),
            w: R.Tensor((16, 8), "float32"),
        ):
            with R.dataflow():
                p = R.exp(v)
                q = R.exp(v)
                a = R.matmul(x, p)
                b = R.matmul(x, q)
                unused = R.tan(w)
                R.output(a, b)
            return (a, b)

    after = str(CombineParallelMatmul()(Module))
    assert after.count("R.exp") == after.count("R.matmul") == 1
    assert "R.tan" not in after
    kept = CombineParallelMatmul(lambda *_: False)(Module)
    assert_structural_equal(kept, Module)
