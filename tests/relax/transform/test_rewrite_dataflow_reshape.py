"""RewriteDataflowReshape: kernels that only give another shape are reshapes again."""

from __future__ import annotations

import pytest

from tests.relax.programs import RelaxPassTest, arguments, assert_same, calls, run_interp
from tvm.ir import IRModule
from tvm.relax.analysis import has_reshape_pattern
from tvm.relax.transform import LegalizeOps, RewriteDataflowReshape
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestResultsOfABlock(RelaxPassTest):
    """What others see is a tensor of its own; operands that a kernel does not read go."""

    run = RewriteDataflowReshape()

    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def second(
            a: T.Buffer((2,), "float32"),
            x: T.Buffer((2, 6), "float32"),
            out: T.Buffer((12,), "float32"),
        ):
            for i in range(12):
                with T.block("second"):
                    vi = T.axis.spatial(12, i)
                    out[vi] = x[vi // 6, vi % 6]

        @R.function
        def main(a: R.Tensor((2,), "float32"), x: R.Tensor((2, 6), "float32")):
            cls = Before
            with R.dataflow():
                y = R.call_tir(cls.second, (a, x), R.Tensor((12,), "float32"))
                z = R.exp(y)
                gv = R.call_tir(cls.second, (a, x), R.Tensor((12,), "float32"))
                R.output(z, gv)
            last = R.call_tir(cls.second, (a, x), R.Tensor((12,), "float32"))
            return (z, gv, last)

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def second(
            a: T.Buffer((2,), "float32"),
            x: T.Buffer((2, 6), "float32"),
            out: T.Buffer((12,), "float32"),
        ):
            for i in range(12):
                with T.block("second"):
                    vi = T.axis.spatial(12, i)
                    out[vi] = x[vi // 6, vi % 6]

        @R.function
        def main(a: R.Tensor((2,), "float32"), x: R.Tensor((2, 6), "float32")):
            cls = Expected
            with R.dataflow():
                y = R.reshape(x, R.shape([12]))
                z = R.exp(y)
                gv = R.call_tir(cls.second, (a, x), R.Tensor((12,), "float32"))
                R.output(z, gv)
            last = R.call_tir(cls.second, (a, x), R.Tensor((12,), "float32"))
            return (z, gv, last)


class TestReshape(RelaxPassTest):
    run = RewriteDataflowReshape()

    @I.ir_module
    class Before:
        @T.prim_func(private=True)
        def reshape(x: T.Buffer((2, 6), "float32"), out: T.Buffer((12,), "float32")):
            for i in range(12):
                with T.block("reshape"):
                    vi = T.axis.spatial(12, i)
                    out[vi] = x[vi // 6, vi % 6]

        @R.function
        def main(x: R.Tensor((2, 6), "float32")) -> R.Tensor((12,), "float32"):
            with R.dataflow():
                y = R.call_tir(Before.reshape, (x,), R.Tensor((12,), "float32"))
                gv = R.add(y, y)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def reshape(x: T.Buffer((2, 6), "float32"), out: T.Buffer((12,), "float32")):
            for i in range(12):
                with T.block("reshape"):
                    vi = T.axis.spatial(12, i)
                    out[vi] = x[vi // 6, vi % 6]

        @R.function
        def main(x: R.Tensor((2, 6), "float32")) -> R.Tensor((12,), "float32"):
            with R.dataflow():
                y: R.Tensor((12,), "float32") = R.reshape(x, R.shape([12]))
                gv = R.add(y, y)
                R.output(gv)
            return gv


def _rewritten(mod: IRModule) -> list[str]:
    legal = LegalizeOps()(mod)
    after = RewriteDataflowReshape()(legal)
    args = arguments(mod["main"], {"n": 6, "a": 2, "b": 3})
    assert_same(run_interp(mod, args), run_interp(after, args))
    return calls(after)


def _operator(call: str, shape: str = '(2, 3, 4), "float32"') -> IRModule:
    from tvm.script import from_source

    return from_source(f"""
from tvm.script import ir as I, relax as R, tir as T

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({shape})):
        with R.dataflow():
            y = {call}
            gv = R.add(y, y)
            R.output(gv)
        return gv
""")


@pytest.mark.parametrize(
    "call",
    [
        "R.reshape(x, (4, 6))",
        "R.reshape(x, (24,))",
        "R.flatten(x)",
        "R.expand_dims(x, [2])",
        "R.squeeze(R.expand_dims(x, [0]))",
        "R.permute_dims(R.expand_dims(x, [0]), [1, 0, 2, 3])",
    ],
)
def test_rewrites(call: str) -> None:
    assert "relax.reshape" in _rewritten(_operator(call))


@pytest.mark.parametrize(
    "call",
    [
        "R.permute_dims(x, [0, 2, 1])",
        "R.strided_slice(x, [0], [0], [1])",
        "R.broadcast_to(x, (2, 2, 3, 4))",
        "R.astype(x, 'float16')",
        "R.flip(x, 2)",
        "R.nn.relu(x)",
        "R.concat((x, x), 0)",
        "R.take(x, R.const([1, 0], 'int32'), 0)",
    ],
)
def test_keeps(call: str) -> None:
    assert "relax.reshape" not in _rewritten(_operator(call))


def test_symbolic_shapes() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n", 2, 4), "float32")):
            n = T.int64()
            with R.dataflow():
                y = R.reshape(x, R.shape([n, 8]))
                z = R.reshape(R.permute_dims(x, [0, 2, 1]), R.shape([n, 8]))
                gv = R.add(y, z)
                R.output(gv)
            return gv

    assert _rewritten(Mod) == ["relax.reshape", "transpose", "relax.reshape", "add"]


def test_a_kernel_with_a_partial_copy_is_none() -> None:
    @T.prim_func
    def part(x: T.Buffer((4,), "float32"), out: T.Buffer((4,), "float32")):
        for i in range(2):
            with T.block("b"):
                vi = T.axis.spatial(2, i)
                out[vi] = x[vi]

    assert not has_reshape_pattern(part)


def test_what_is_repeated_is_no_reshape() -> None:
    """The kernels of these are those of a reshape to as many elements, which they are not."""

    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), one: R.Tensor((), "float32")):
            n = T.int64()
            with R.dataflow():
                y = R.tile(x, [2])
                z = R.broadcast_to(one, R.shape([n * 2]))
                gv = R.add(y, z)
                R.output(gv)
            return gv

    assert _rewritten(Mod) == ["tile", "broadcast_to", "add"]


def test_sizes_that_nobody_can_compare() -> None:
    @I.ir_module
    class Mod:
        @R.function
        def main(x: R.Tensor(("n",), "float32"), shape: R.Shape(["a", "b"])):
            a, b = T.int64(), T.int64()
            with R.dataflow():
                y = R.reshape(x, R.shape([a, b]))
                gv = R.add(y, y)
                R.output(gv)
            return gv

    assert _rewritten(Mod) == ["relax.reshape", "add"]
