"""What is read behind the sum of a tile is fetched before it."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.prefetch_epilogues import PrefetchEpilogues


@pytest.mark.pure
class TestResidual(PassTest):
    """The vector of R; not x and w, which the sum reads, nor the bias, which is one number."""

    run = PrefetchEpilogues()

    @T.prim_func
    def Before(
        x: T.Buffer((512,), "float32"), w: T.Buffer((64,), "float32"),
        R: T.Buffer((512,), "float32"), b: T.Buffer((64,), "float32"),
        C: T.Buffer((512,), "float32"),
    ):  # fmt: skip
        for i in range(64):
            acc = T.allocate([8], "float32", "local")
            sums = T.Buffer((8,), "float32", data=acc, scope="local")
            sums[0:8] = T.Broadcast(T.float32(0), 8)
            for k in range(64):
                sums[0:8] = sums[0:8] + x[k * 8 : k * 8 + 8] * T.Broadcast(w[k], 8)
            C[i * 8 : i * 8 + 8] = sums[0:8] + T.Broadcast(b[i], 8) + R[i * 8 : i * 8 + 8]

    @T.prim_func
    def Expected(
        x: T.Buffer((512,), "float32"), w: T.Buffer((64,), "float32"),
        R: T.Buffer((512,), "float32"), b: T.Buffer((64,), "float32"),
        C: T.Buffer((512,), "float32"),
    ):  # fmt: skip
        for i in range(64):
            acc = T.allocate([8], "float32", "local")
            sums = T.Buffer((8,), "float32", data=acc, scope="local")
            sums[0:8] = T.Broadcast(T.float32(0), 8)
            T.prefetch(T.address_of(R[i * 8]), 0, 3, 1)
            for k in range(64):
                sums[0:8] = sums[0:8] + x[k * 8 : k * 8 + 8] * T.Broadcast(w[k], 8)
            C[i * 8 : i * 8 + 8] = sums[0:8] + T.Broadcast(b[i], 8) + R[i * 8 : i * 8 + 8]


def tile(rounds: int, lanes: int) -> tvm.tir.PrimFunc:
    @T.prim_func
    def func(x: T.handle, r: T.handle, c: T.handle):
        X = T.match_buffer(x, (rounds * lanes,))
        R = T.match_buffer(r, (4 * lanes,))
        C = T.match_buffer(c, (4 * lanes,))
        for i in range(4):
            acc = T.allocate([lanes], "float32", "local")
            sums = T.Buffer((lanes,), "float32", data=acc, scope="local")
            sums[T.Ramp(0, 1, lanes)] = T.Broadcast(T.float32(0), lanes)
            for k in range(rounds):
                sums[T.Ramp(0, 1, lanes)] = (
                    sums[T.Ramp(0, 1, lanes)] + X[T.Ramp(k * lanes, 1, lanes)]
                )
            C[T.Ramp(i * lanes, 1, lanes)] = (
                sums[T.Ramp(0, 1, lanes)] + R[T.Ramp(i * lanes, 1, lanes)]
            )

    return func


@pytest.mark.pure
@pytest.mark.parametrize(("rounds", "lanes", "fetched"), [(64, 8, 1), (4, 8, 0), (64, 16, 0)])
def test_short_sums_and_whole_lines_fetch_nothing(rounds: int, lanes: int, fetched: int):
    func = tile(rounds, lanes)
    made = PrefetchEpilogues()(tvm.IRModule({"main": func}))["main"]
    assert made.script().count("prefetch") == fetched


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", ["x86-64-v4", "haswell", "x86-64-v2"])
@pytest.mark.parametrize(("channels", "side", "filters"), [(64, 14, 24), (40, 7, 72), (32, 9, 20)])
def test_results(cpu: str, channels: int, side: int, filters: int):
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((filters, channels, 1, 1)).astype("float32")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, channels, side, side), "float32"))
    r = relax.Var("r", relax.TensorStructInfo((1, filters, side, side), "float32"))
    with bb.function("main", [x, r]):
        with bb.dataflow():
            made = bb.emit(relax.op.nn.conv2d(x, relax.const(weight)))
            out = bb.emit_output(relax.op.nn.relu(bb.emit(relax.op.add(made, r))))
        bb.emit_func_output(out)
    run = relax.VirtualMachine(tvm.compile(bb.get(), f"llvm -mcpu={cpu}"), tvm.cpu())["main"]
    given = [
        rng.standard_normal((1, n, side, side)).astype("float32") for n in (channels, filters)
    ]
    found = run(*map(tvm.runtime.tensor, given)).numpy()
    exact = np.einsum("fc,ncyx->nfyx", weight[:, :, 0, 0].astype("float64"), given[0]) + given[1]
    np.testing.assert_allclose(found, np.maximum(exact, 0), rtol=1e-5, atol=1e-4)
