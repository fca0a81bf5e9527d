"""Loops over masked vectors: those that are whole, and the last."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import CPUS
from tvm import relax
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.peel_masks import PeelMasks


@pytest.mark.pure
class TestKnownExtent(PassTest):
    """Seven vectors are whole; the last keeps its mask, also where lanes are chosen by it."""

    run = PeelMasks()

    @T.prim_func
    def Before(A: T.Buffer((60,), "float32"), B: T.Buffer((60,), "float32"),
               C: T.Buffer((8,), "float32")):  # fmt: skip
        for k in range(8):
            B.vstore([T.Ramp(k * 8, 1, 8)],
                     A.vload([T.Ramp(k * 8, 1, 8)],
                             predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(60, 8)),
                     predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(60, 8))  # fmt: skip
            C[0:8] = C[0:8] + T.Select(
                T.Ramp(k * 8, 1, 8) < T.Broadcast(60, 8),
                A.vload([T.Ramp(k * 8, 1, 8)], predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(60, 8)),
                T.Broadcast(T.float32(0), 8),
            )

    @T.prim_func
    def Expected(A: T.Buffer((60,), "float32"), B: T.Buffer((60,), "float32"),
                 C: T.Buffer((8,), "float32")):  # fmt: skip
        for k in range(7):
            B[k * 8 : k * 8 + 8] = A[k * 8 : k * 8 + 8]
            C[0:8] = C[0:8] + A[k * 8 : k * 8 + 8]
        B.vstore([T.Ramp(56, 1, 8)],
                 A.vload([T.Ramp(56, 1, 8)], predicate=T.Ramp(56, 1, 8) < T.Broadcast(60, 8)),
                 predicate=T.Ramp(56, 1, 8) < T.Broadcast(60, 8))  # fmt: skip
        C[0:8] = C[0:8] + T.Select(
            T.Ramp(56, 1, 8) < T.Broadcast(60, 8),
            A.vload([T.Ramp(56, 1, 8)], predicate=T.Ramp(56, 1, 8) < T.Broadcast(60, 8)),
            T.Broadcast(T.float32(0), 8),
        )


@pytest.mark.pure
class TestOtherLoops(PassTest):
    """Few iterations, a limit that moves with the loop, and vectors that overlap stay."""

    run = PeelMasks()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for k in range(3):
            B.vstore([T.Ramp(k * 8, 1, 8)], A[k * 8 : k * 8 + 8],
                     predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(20, 8))  # fmt: skip
        for k in range(8):
            B.vstore([T.Ramp(k * 8, 1, 8)], A[k * 8 : k * 8 + 8],
                     predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(k * 7, 8))  # fmt: skip
        for k in range(8):
            B.vstore([T.Ramp(k * 4, 1, 8)], A[k * 4 : k * 4 + 8],
                     predicate=T.Ramp(k * 4, 1, 8) < T.Broadcast(34, 8))  # fmt: skip

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for k in range(3):
            B.vstore([T.Ramp(k * 8, 1, 8)], A[k * 8 : k * 8 + 8],
                     predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(20, 8))  # fmt: skip
        for k in range(8):
            B.vstore([T.Ramp(k * 8, 1, 8)], A[k * 8 : k * 8 + 8],
                     predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(k * 7, 8))  # fmt: skip
        for k in range(8):
            B.vstore([T.Ramp(k * 4, 1, 8)], A[k * 4 : k * 4 + 8],
                     predicate=T.Ramp(k * 4, 1, 8) < T.Broadcast(34, 8))  # fmt: skip


@T.prim_func
def _open(a: T.handle, b: T.handle, n: T.int32) -> None:
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for k in range((n + 7) // 8):
        B.vstore([T.Ramp(k * 8, 1, 8)],
                 A.vload([T.Ramp(k * 8, 1, 8)], predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(n, 8))
                 + T.Broadcast(T.float32(1), 8),
                 predicate=T.Ramp(k * 8, 1, 8) < T.Broadcast(n, 8))  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", *(f"llvm -mcpu={cpu}" for cpu in CPUS)])
def test_open_extent(target: str) -> None:
    """Two loops, of n // 8 whole vectors and of what is left, also where there are none."""
    text = PeelMasks()(tvm.IRModule({"main": _open}))["main"].script()
    assert text.count("for k in range(") == 2
    assert text.count("predicate=") == 2
    run = tvm.compile(_open, target)
    for n in (1, 7, 8, 9, 63, 64, 65):
        values = np.random.default_rng(n).standard_normal(n).astype("float32")
        made = np.zeros(n, "float32")
        run(values, result := tvm.runtime.tensor(made), n)
        np.testing.assert_array_equal(result.numpy(), values + np.float32(1))


@pytest.mark.covering(1)
@pytest.mark.cpu
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("columns", [65, 100, 127, 1500])
def test_softmax_of_any_length(columns: int, cpu: str) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3, columns), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.nn.softmax(x)))
    built = tvm.compile(bb.get(), f"llvm -mcpu={cpu}")
    values = np.random.default_rng(0).standard_normal((3, columns)).astype("float32")
    found = relax.VirtualMachine(built, tvm.cpu())["main"](tvm.runtime.tensor(values)).numpy()
    power = np.exp(values - values.max(1, keepdims=True))
    np.testing.assert_allclose(found, power / power.sum(1, keepdims=True), rtol=1e-5)
