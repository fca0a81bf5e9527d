"""Mixed precision: what takes half floats, where casts stand, what keeps its type."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.relax import interp
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def _check(before: IRModule, expected: IRModule, out_dtype: str = "float32") -> None:
    after = relax.transform.ToMixedPrecision(out_dtype)(before)
    assert_structural_equal(after, expected)
    assert relax.analysis.well_formed(after)


@I.ir_module
class ConvRelu:
    @R.function
    def main(x: R.Tensor((2, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            lv = R.nn.conv2d(x, w, out_dtype="float32")
            gv = R.nn.relu(lv)
            R.output(gv)
        return gv


@I.ir_module
class ConvReluSingle:
    @R.function
    def main(x: R.Tensor((2, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            lv = R.astype(x, "float16")
            lv1 = R.astype(w, "float16")
            lv2 = R.nn.conv2d(lv, lv1, out_dtype="float32")
            lv3 = R.astype(lv2, "float16")
            lv4 = R.nn.relu(lv3)
            gv = R.astype(lv4, "float32")
            R.output(gv)
        return gv


@I.ir_module
class ConvReluHalf:
    @R.function
    def main(x: R.Tensor((2, 3, 8, 8), "float32"), w: R.Tensor((4, 3, 3, 3), "float32")):
        with R.dataflow():
            lv = R.astype(x, "float16")
            lv1 = R.astype(w, "float16")
            lv2 = R.nn.conv2d(lv, lv1, out_dtype="float16")
            lv3 = R.nn.relu(lv2)
            gv = R.astype(lv3, "float32")
            R.output(gv)
        return gv


def test_parameters_are_cast_where_the_block_begins() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.nn.relu(x)
                b = R.matmul(a, w)
                R.output(b)
            return b

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                lv = R.astype(w, "float16")
                a = R.nn.relu(x)
                lv1 = R.astype(a, "float16")
                b = R.matmul(lv1, lv, out_dtype="float32")
                R.output(b)
            return b

    _check(Before, Expected)


def test_a_choice_keeps_values_that_half_floats_lack() -> None:
    """-1e9 of a mask would be minus infinity."""

    @I.ir_module
    class Before:
        @R.function
        def main(
            x: R.Tensor((4, 8), "float32"),
            w: R.Tensor((8, 8), "float32"),
            m: R.Tensor((8,), "bool"),
        ):
            with R.dataflow():
                a = R.matmul(x, w, out_dtype="float32")
                b = R.where(m, a, R.const(-1e9, "float32"))
                R.output(b)
            return b

    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((4, 8), "float32"),
            w: R.Tensor((8, 8), "float32"),
            m: R.Tensor((8,), "bool"),
        ):
            with R.dataflow():
                lv = R.astype(x, "float16")
                lv1 = R.astype(w, "float16")
                lv2 = R.matmul(lv, lv1, out_dtype="float32")
                a = R.astype(lv2, "float16")
                lv3 = R.astype(a, "float32")
                b = R.where(m, lv3, R.const(-1e9, "float32"))
                R.output(b)
            return b

    _check(Before, Expected)


def test_products_take_half_floats() -> None:
    _check(ConvRelu, ConvReluSingle)
    _check(ConvRelu, ConvReluHalf, "float16")


@I.ir_module
class Chain:
    @R.function
    def main(
        x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")
    ):
        with R.dataflow():
            a = R.matmul(x, w)
            c = R.nn.relu(a)
            d = R.matmul(c, w)
            e = R.add(d, b)
            f = R.nn.softmax(e)
            R.output(f)
        return f


@I.ir_module
class ChainSingle:
    """Products are half floats at once; the second is added to single ones. w is cast once."""

    @R.function
    def main(
        x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")
    ):
        with R.dataflow():
            lv = R.astype(x, "float16")
            lv1 = R.astype(w, "float16")
            lv2 = R.matmul(lv, lv1, out_dtype="float32")
            a = R.astype(lv2, "float16")
            c = R.nn.relu(a)
            lv3 = R.matmul(c, lv1, out_dtype="float32")
            d = R.astype(lv3, "float16")
            lv4 = R.astype(d, "float32")
            e = R.add(lv4, b)
            f = R.nn.softmax(e)
            R.output(f)
        return f


@I.ir_module
class ChainHalf:
    @R.function
    def main(
        x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32"), b: R.Tensor((4,), "float32")
    ):
        with R.dataflow():
            lv = R.astype(x, "float16")
            lv1 = R.astype(w, "float16")
            a = R.matmul(lv, lv1, out_dtype="float16")
            c = R.nn.relu(a)
            d = R.matmul(c, lv1, out_dtype="float16")
            lv3 = R.astype(d, "float32")
            e = R.add(lv3, b)
            f = R.nn.softmax(e)
            R.output(f)
        return f


def test_followers_take_what_their_operands_are() -> None:
    _check(Chain, ChainSingle)
    _check(Chain, ChainHalf, "float16")


@I.ir_module
class Tuples:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            s = R.split(a, 2, axis=1)
            left = s[0]
            right = s[1]
            pair = (right, left)
            c = R.concat(pair, axis=1)
            d = R.multiply(c, R.const(2.0))
            big = R.multiply(d, R.const(1e6))
            g = R.matmul(d, w)
            R.output(big, g)
        return (big, g)


@I.ir_module
class TuplesHalf:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            lv = R.astype(x, "float16")
            lv1 = R.astype(w, "float16")
            a = R.matmul(lv, lv1, out_dtype="float16")
            s = R.split(a, 2, axis=1)
            left = s[0]
            right = s[1]
            pair = (right, left)
            c = R.concat(pair, axis=1)
            lv2 = R.astype(R.const(2.0), "float16")
            d = R.multiply(c, lv2)
            lv3 = R.astype(d, "float32")
            big = R.multiply(lv3, R.const(1e6))
            lv5 = R.matmul(d, lv1, out_dtype="float16")
            g = R.astype(lv5, "float32")
            R.output(big, g)
        return (big, g)


def test_tuples_and_constants() -> None:
    _check(Tuples, TuplesHalf, "float16")


@I.ir_module
class Kernel:
    @T.prim_func(private=True)
    def copy(a: T.Buffer((4, 4), "float32"), b: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            with T.block("copy"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj]

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        cls = Kernel
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.call_tir(cls.copy, (a,), out_sinfo=R.Tensor((4, 4), "float32"))
            i = R.argmax(a, axis=0)
            R.output(b, i)
        c = R.matmul(b, w)
        return (c, i)


def test_kernels_and_other_blocks_keep_their_types() -> None:
    after = relax.transform.ToMixedPrecision("float16")(Kernel)
    assert relax.analysis.well_formed(after)
    text = after["main"].script()
    assert '(lv2,), out_sinfo=R.Tensor((4, 4), dtype="float32"))' in text
    assert text.count('R.matmul(b, w, out_dtype="void")') == 1
    rng = np.random.default_rng(0)
    x, w = (rng.uniform(-1, 1, (4, 4)).astype("float32") for _ in "xw")
    wanted, found = interp.run(Kernel, x, w), interp.run(after, x, w)
    np.testing.assert_allclose(found[0], wanted[0], rtol=0.02, atol=0.02)


def test_inputs_become_half_floats_by_name() -> None:
    after = relax.transform.ToMixedPrecision(fp16_input_names=["w", "nobody"])(ConvRelu)
    assert relax.analysis.well_formed(after)
    x, w = after["main"].params
    assert (x.struct_info.dtype, w.struct_info.dtype) == ("float32", "float16")
    assert "R.astype(w" not in after["main"].script()


def test_other_names_are_of_the_original_type() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                a = R.matmul(x, w)
                b = a
                c = R.matmul(b, w)
                d = c
                R.output(d)
            return d

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
            with R.dataflow():
                x16 = R.astype(x, "float16")
                w16 = R.astype(w, "float16")
                a = R.matmul(x16, w16, out_dtype="float16")
                b = R.astype(a, "float32")
                b16 = R.astype(b, "float16")
                c = R.matmul(b16, w16, out_dtype="float16")
                d = R.astype(c, "float32")
                R.output(d)
            return d

    _check(Before, Expected, "float16")


def test_out_dtype_is_checked() -> None:
    with pytest.raises(TVMError, match="legal: 'float32', 'float16'"):
        relax.transform.ToMixedPrecision("int8")(ConvRelu)


def test_bfloat16() -> None:
    """The same with the other half float; numbers beyond its range stay single ones."""
    after = relax.transform.ToMixedPrecision(dtype="bfloat16")(ConvRelu)
    expected = ConvReluSingle.script(show_meta=True).replace("float16", "bfloat16")
    assert_structural_equal(after, from_source(expected))
    half = relax.transform.ToMixedPrecision("bfloat16", dtype="bfloat16")(ConvRelu)
    assert relax.analysis.well_formed(half)
    with pytest.raises(TVMError, match="found: 'float16'\n  legal: 'float32', 'bfloat16'"):
        relax.transform.ToMixedPrecision("float16", dtype="bfloat16")(ConvRelu)
    with pytest.raises(TVMError, match="found: 'int8'\n  legal: 'float16', 'bfloat16'"):
        relax.transform.ToMixedPrecision(dtype="int8")(ConvRelu)


def test_products_of_bfloat16_are_summed_in_float32() -> None:
    """Of 600 ones, sums of bfloat16 would be 256."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((2, 600), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(relax.op.matmul(x, relax.const(np.ones((600, 3), "float32"))))
        bb.emit_func_output(y)
    after = relax.transform.ToMixedPrecision(dtype="bfloat16")(bb.get())
    found = interp.Interpreter(after).run("main", np.ones((2, 600), "float32"))
    assert found.dtype == "float32"
    assert (found == 600).all()


def test_an_inner_value_is_cast_right_behind_its_binding() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")):
            with R.dataflow():
                a = R.exp(x)
                b = R.sin(w)
                c = R.matmul(a, b)
                R.output(c)
            return c

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor((2, 2), "float32"), w: R.Tensor((2, 2), "float32")):
            with R.dataflow():
                a = R.exp(x)
                a1 = R.astype(a, "float16")
                b = R.sin(w)
                b1 = R.astype(b, "float16")
                c = R.matmul(a1, b1, out_dtype="float32")
                R.output(c)
            return c

    _check(Before, Expected)
