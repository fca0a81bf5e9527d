"""CallTIRRewrite: allocate, call, read."""

import numpy as np
import pytest

from tests.relax.programs import RelaxPassTest
from tvm import relax
from tvm.relax.transform import CallTIRRewrite
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


class TestKernel(RelaxPassTest):
    run = CallTIRRewrite()
    sizes = {"n": 4}
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def double(x: T.handle, y: T.handle):
            n = T.int64()
            X = T.match_buffer(x, (n,), "float32")
            Y = T.match_buffer(y, (n,), "float32")
            for i in range(n):
                with T.block("b"):
                    vi = T.axis.spatial(n, i)
                    Y[vi] = X[vi] * T.float32(2)

        @R.function(pure=False)
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            y = R.call_tir(Before.double, (x,), R.Tensor((n,), "float32"))
            z = R.call_dps_packed("other", (y,), R.Tensor((n,), "float32"))
            return z

    @I.ir_module
    class Expected:
        @T.prim_func
        def double(x: T.handle, y: T.handle):
            n = T.int64()
            X = T.match_buffer(x, (n,), "float32")
            Y = T.match_buffer(y, (n,), "float32")
            for i in range(n):
                with T.block("b"):
                    vi = T.axis.spatial(n, i)
                    Y[vi] = X[vi] * T.float32(2)

        @R.function(pure=False)
        def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
            n = T.int64()
            alloc = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0))
            _ = Expected.double(x, alloc)
            y = alloc
            alloc1 = R.builtin.alloc_tensor(R.shape([n]), R.dtype("float32"), R.prim_value(0))
            _1 = R.call_packed("other", y, alloc1, sinfo_args=())
            z = alloc1
            return z

    def test_gives_expected(self):
        kinds = [type(b.value).__name__ for b in self._after()["main"].body.blocks[0].bindings]
        assert kinds == ["Call", "Call", "Var", "Call", "Call", "Var"]
        first = self._after()["main"].body.blocks[0].bindings
        wanted = type(self).Expected["main"].body.blocks[0].bindings
        assert first[0].value.op is wanted[0].value.op
        assert first[1].value.args[1] is first[0].var


class TestSeveralResultsAndSizes(RelaxPassTest):
    run = CallTIRRewrite()
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def two(x: T.Buffer((4,), "float32"), a: T.Buffer((4,), "float32"),
                b: T.Buffer((4,), "float32"), k: T.int64):
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    a[vi] = x[vi]
                    b[vi] = x[vi] * T.Cast("float32", k)

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32"), s: R.Shape(["k"])):
            k = T.int64()
            y = R.call_tir(Before.two, (x,), [R.Tensor((4,), "float32")] * 2,
                           tir_vars=R.shape([k]))
            z = y[0]
            return z

    def test_form(self):
        bindings = self._after()["main"].body.blocks[0].bindings
        names = [getattr(b.value, "op", None) for b in bindings[:3]]
        assert [op.name for op in names] == [
            "relax.builtin.alloc_tensor", "relax.builtin.alloc_tensor", "relax.vm.call_tir_dyn",
        ]  # fmt: skip
        packed = bindings[2].value.args[1]
        assert list(packed.fields[1:3]) == [bindings[0].var, bindings[1].var]
        assert isinstance(bindings[3].value, relax.Tuple)


class TestInPlace(RelaxPassTest):
    run = CallTIRRewrite()
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def bump(x: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    x[vi] = x[vi] + T.float32(1)

        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_tir_inplace(Before.bump, (x,), inplace_indices=[0],
                                   out_sinfo=R.Tensor((4,), "float32"))
            return y

    def test_nothing_is_allocated(self):
        main = self._after()["main"]
        call, name = main.body.blocks[0].bindings
        assert list(call.value.args) == [main.params[0]]
        assert name.value is main.params[0]


def test_spans_stay():
    mod = TestKernel.Before
    line = mod["main"].body.blocks[0].bindings[0].value.span.line
    after = CallTIRRewrite()(mod)["main"].body.blocks[0].bindings
    assert [b.span.line for b in after[:3]] == [line] * 3


def test_other_calls_stay():
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.add(x, relax.const(np.ones(4, "float32")))))
    mod = bb.get()
    assert CallTIRRewrite()(mod)["main"] is mod["main"]


def test_in_a_dataflow_block_what_is_made_is_inner():
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4,), "float32")):
            with R.dataflow():
                y = R.call_dps_packed("f", (x,), out_sinfo=R.Tensor((4,), "float32"))
                R.output(y)
            return y

    block = CallTIRRewrite()(Before)["main"].body.blocks[0]
    assert [type(one.var).__name__ for one in block.bindings] == [
        "DataflowVar", "DataflowVar", "Var",
    ]  # fmt: skip
