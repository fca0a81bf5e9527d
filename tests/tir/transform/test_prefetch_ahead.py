"""Loops that fetch what the next row of a loop around them reads."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.pipeline import get_default_pipeline
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.prefetch_ahead import PrefetchAhead


@pytest.mark.pure
class TestFetches(PassTest):
    """Each line of what is read in rows; not what all rows read, nor memory of its own."""

    run = PrefetchAhead()

    @T.prim_func
    def Before(
        A: T.Buffer((256,), "float32"), C: T.Buffer((64,), "float32"),
        B: T.Buffer((256,), "float32"),
    ):  # fmt: skip
        for i in range(4):
            for k in T.serial(2, annotations={"prefetch_ahead": 64}):
                B[i * 64 + k * 32 : i * 64 + k * 32 + 32] = (
                    A[i * 64 + k * 32 : i * 64 + k * 32 + 32] + C[k * 32 : k * 32 + 32]
                )

    @T.prim_func
    def Expected(
        A: T.Buffer((256,), "float32"), C: T.Buffer((64,), "float32"),
        B: T.Buffer((256,), "float32"),
    ):  # fmt: skip
        for i in range(4):
            for k in range(2):
                T.prefetch(T.handle_add_byte_offset(
                    T.address_of(A[i * 64 + k * 32]), T.int64(256)
                ), 0, 3, 1)
                T.prefetch(T.handle_add_byte_offset(
                    T.address_of(A[i * 64 + k * 32]), T.int64(320)
                ), 0, 3, 1)
                B[i * 64 + k * 32 : i * 64 + k * 32 + 32] = (
                    A[i * 64 + k * 32 : i * 64 + k * 32 + 32] + C[k * 32 : k * 32 + 32]
                )


def _softmax(columns: int) -> tvm.IRModule:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((5, columns), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.nn.softmax(x)))
    return bb.get()


@pytest.mark.pure
def test_rows_of_some_length_are_fetched() -> None:
    """Short rows come by themselves, long ones would not stay."""
    target = Target("llvm -mcpu=haswell")
    for columns, fetched in ((128, False), (512, True), (1 << 16, False)):
        text = get_default_pipeline(target).graph(_softmax(columns)).script()
        assert ("prefetch_ahead" in text) == fetched


@pytest.mark.cpu
@pytest.mark.parametrize("kind", ["llvm -mcpu=haswell", "c"])
def test_results_and_code(kind: str) -> None:
    built = tvm.compile(_softmax(512), kind)
    values = np.random.default_rng(0).standard_normal((5, 512)).astype("float32")
    found = relax.VirtualMachine(built, tvm.cpu())["main"](tvm.runtime.tensor(values)).numpy()
    power = np.exp(values - values.max(1, keepdims=True))
    np.testing.assert_allclose(found, power / power.sum(1, keepdims=True), rtol=1e-5)
