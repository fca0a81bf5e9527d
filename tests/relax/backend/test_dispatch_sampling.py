from __future__ import annotations

import pytest

import tvm
from tvm.error import TVMError
from tvm.ir import assert_structural_equal
from tvm.relax.backend import DispatchSampling
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.target import Target

pytestmark = pytest.mark.pure


@I.ir_module
class Draws:
    @R.function
    def foo(
        prob: R.Tensor((3, 5), "float32"),
        uniform_sample: R.Tensor((6, 1), "float32"),
        sample_indices: R.Tensor((6, 1), "int64"),
    ):
        with R.dataflow():
            gv = R.multinomial_from_uniform(prob, uniform_sample, sample_indices, dtype="int64")
            R.output(gv)
        return gv


def test_on_a_cpu() -> None:
    @I.ir_module
    class Expected:
        @T.prim_func(private=True)
        def get_sample_index(A: T.handle, B: T.handle, C: T.handle, D: T.handle):
            batch, vocab_size = T.int64(), T.int64()
            prob = T.match_buffer(A, (batch, vocab_size))
            out_batch = T.int64()
            usample = T.match_buffer(B, (out_batch, 1))
            sample_indices = T.match_buffer(C, (out_batch, 1), "int64")
            output_index = T.match_buffer(D, (out_batch, 1), "int64")
            for ax0, ax1 in T.grid(out_batch, vocab_size):
                with T.block("T_get_sample_index"):
                    v_ax0, v_ax1 = T.axis.remap("SS", [ax0, ax1])
                    T.writes(output_index[v_ax0, 0])
                    if (
                        usample[v_ax0, T.int64(0)]
                        < prob[sample_indices[v_ax0, T.int64(0)], v_ax1]
                        or v_ax1 + T.int64(1) == vocab_size
                    ):
                        if v_ax1 == T.int64(0):
                            output_index[v_ax0, 0] = T.int64(0)
                        else:
                            if (
                                usample[v_ax0, T.int64(0)]
                                >= prob[sample_indices[v_ax0, T.int64(0)], v_ax1 - T.int64(1)]
                            ):
                                output_index[v_ax0, 0] = v_ax1

        @R.function
        def foo(
            prob: R.Tensor((3, 5), "float32"),
            uniform_sample: R.Tensor((6, 1), "float32"),
            sample_indices: R.Tensor((6, 1), "int64"),
        ) -> R.Tensor((6, 1), "int64"):
            cls = Expected
            with R.dataflow():
                lv: R.Tensor((3, 5), "float32") = R.cumsum(
                    prob, axis=1, dtype="float32", exclusive=False
                )
                gv = R.call_tir(
                    cls.get_sample_index, (lv, uniform_sample, sample_indices),
                    out_sinfo=R.Tensor((6, 1), "int64"),
                )  # fmt: skip
                R.output(gv)
            return gv

    with Target("llvm"):
        after = DispatchSampling()(Draws)
    assert_structural_equal(after, Expected)


def test_on_a_gpu() -> None:
    with Target("cuda", host="llvm"):
        after = DispatchSampling()(Draws)
    assert "R.call_tir(cls.gpu_multinomial_from_uniform, (prob, uniform_sample," in after.script()
    text = tvm.compile(Draws, Target("cuda", host="llvm")).mod.imports[0].imports[0]
    assert "gpu_multinomial_from_uniform_kernel" in text.inspect_source()


def test_what_is_refused() -> None:
    with pytest.raises(TVMError, match="Target not found"):
        DispatchSampling()(Draws)

    @I.ir_module
    class Unknown:
        @R.function
        def foo(
            prob: R.Tensor((3, 5), "float32"),
            uniform_sample: R.Tensor("float32", ndim=2),
            sample_indices: R.Tensor((6, 1), "int64"),
        ):
            with R.dataflow():
                gv = R.multinomial_from_uniform(prob, uniform_sample, sample_indices)
                R.output(gv)
            return gv

    with (
        Target("llvm"),
        pytest.raises(TVMError, match="uniform_sample should be a 2D tensor with shape"),
    ):
        DispatchSampling()(Unknown)
