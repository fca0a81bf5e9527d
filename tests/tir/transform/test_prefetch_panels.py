"""Tiles that fetch the next panel of weights while they compute."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.pipeline import get_default_pipeline
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.prefetch_panels import PrefetchPanels


@pytest.mark.pure
class TestShares(PassTest):
    """Seven tiles read a panel of 64 KB: each fetches a seventh of the next, byte for byte."""

    run = PrefetchPanels()

    @T.prim_func
    def Before(X: T.Buffer((7168,), "float32"), W: T.Buffer((32768,), "float32"),
               C: T.Buffer((448,), "float32")):  # fmt: skip
        for t in T.serial(14, annotations={"prefetch_panel": 7}):
            for k in range(512):
                for j in T.unroll(2):
                    C[t * 32 + j * 16 : t * 32 + j * 16 + 16] = (
                        C[t * 32 + j * 16 : t * 32 + j * 16 + 16]
                        + T.Broadcast(X[t * 512 + k], 16)
                        * W[t // 7 * 16384 + k * 32 + j * 16 :
                            t // 7 * 16384 + k * 32 + j * 16 + 16]
                    )

    @T.prim_func
    def Expected(X: T.Buffer((7168,), "float32"), W: T.Buffer((32768,), "float32"),
                 C: T.Buffer((448,), "float32")):  # fmt: skip
        for t in range(14):
            for k in range(512):
                T.prefetch(T.handle_add_byte_offset(
                    T.address_of(W[t // 7 * 16384]),
                    T.Cast("int64", t % 7 * 512 + k) * T.int64(19) + T.int64(65536),
                ), 0, 3, 1)
                for j in T.unroll(2):
                    C[t * 32 + j * 16 : t * 32 + j * 16 + 16] = (
                        C[t * 32 + j * 16 : t * 32 + j * 16 + 16]
                        + T.Broadcast(X[t * 512 + k], 16)
                        * W[t // 7 * 16384 + k * 32 + j * 16 :
                            t // 7 * 16384 + k * 32 + j * 16 + 16]
                    )


@pytest.mark.pure
class TestStream(PassTest):
    """Weights that are read once are fetched a little ahead, in whole lines, over nested loops."""

    run = PrefetchPanels()

    @T.prim_func
    def Before(X: T.Buffer((576,), "float32"), W: T.Buffer((36864,), "float32"),
               C: T.Buffer((64,), "float32")):  # fmt: skip
        for b in T.serial(2, annotations={"prefetch_panel": 1}):
            for c, r in T.grid(64, 9):
                C[b * 32 : b * 32 + 32] = C[b * 32 : b * 32 + 32] + T.Broadcast(
                    X[c * 9 + r], 32
                ) * W[b * 18432 + c * 288 + r * 32 : b * 18432 + c * 288 + r * 32 + 32]

    @T.prim_func
    def Expected(X: T.Buffer((576,), "float32"), W: T.Buffer((36864,), "float32"),
                 C: T.Buffer((64,), "float32")):  # fmt: skip
        for b in range(2):
            for c, r in T.grid(64, 9):
                T.prefetch(T.handle_add_byte_offset(
                    T.address_of(W[b * 18432]),
                    T.Cast("int64", r + c * 9) * T.int64(128) + T.int64(8192),
                ), 0, 3, 1)
                T.prefetch(T.handle_add_byte_offset(
                    T.address_of(W[b * 18432]),
                    T.Cast("int64", r + c * 9) * T.int64(128) + T.int64(8256),
                ), 0, 3, 1)
                C[b * 32 : b * 32 + 32] = C[b * 32 : b * 32 + 32] + T.Broadcast(
                    X[c * 9 + r], 32
                ) * W[b * 18432 + c * 288 + r * 32 : b * 18432 + c * 288 + r * 32 + 32]


@pytest.mark.pure
class TestNothingToFetch(PassTest):
    """Small panels, memory that moves with each tile, gaps between steps, and own memory."""

    run = PrefetchPanels()

    @T.prim_func
    def Before(S: T.Buffer((64,), "float32"), M: T.Buffer((65536,), "float32"),
               G: T.Buffer((131072,), "float32"), C: T.Buffer((4,), "float32")):  # fmt: skip
        own = T.allocate([16384], "float32", "global")
        O = T.Buffer((16384,), data=own)
        for t in T.serial(4, annotations={"prefetch_panel": 4}):
            for k in range(64):
                C[t] = C[t] + S[k]
            for k, r in T.grid(128, 128):
                C[t] = C[t] + M[t * 16384 + k * 128 + r] * G[k * 512 + r] * O[k * 128 + r]

    @T.prim_func
    def Expected(S: T.Buffer((64,), "float32"), M: T.Buffer((65536,), "float32"),
                 G: T.Buffer((131072,), "float32"), C: T.Buffer((4,), "float32")):  # fmt: skip
        own = T.allocate([16384], "float32", "global")
        O = T.Buffer((16384,), data=own)
        for t in range(4):
            for k in range(64):
                C[t] = C[t] + S[k]
            for k, r in T.grid(128, 128):
                C[t] = C[t] + M[t * 16384 + k * 128 + r] * G[k * 512 + r] * O[k * 128 + r]


def _network(kernel: int, channels: int, filters: int, size: int) -> tvm.IRModule:
    rng = np.random.default_rng(0)
    weight = rng.standard_normal((filters, channels, kernel, kernel)).astype("float32")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, channels, size, size), "float32"))
    with bb.function("main", [x]):
        made = relax.op.nn.conv2d(x, relax.const(weight), padding=kernel // 2)
        bb.emit_func_output(bb.emit(made))
    return bb.get()


def _product(rows: int) -> tvm.IRModule:
    weight = np.random.default_rng(0).standard_normal((512, 256)).astype("float32")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((rows, 512), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.matmul(x, relax.const(weight))))
    return bb.get()


NETWORKS = {
    "1x1": lambda: _network(1, 512, 64, 7),
    "3x3": lambda: _network(3, 128, 512, 7),
    "winograd": lambda: _network(3, 256, 256, 14),
    "product": lambda: _product(64),
}


@pytest.mark.pure
@pytest.mark.parametrize(
    ("name", "cpu"),
    [(name, cpu) for name in NETWORKS for cpu in ("haswell", "skylake-avx512")
     if (name, cpu) != ("3x3", "haswell")],  # there rows of weights are read where they lie
)  # fmt: skip
def test_rules_ask_for_it(name: str, cpu: str) -> None:
    """Kernels with few tiles a panel fetch packed weights, and no others."""
    target = Target(f"llvm -mcpu={cpu}")
    graph = get_default_pipeline(target).graph(NETWORKS[name]())
    asked = [
        func.with_attr("target", target)
        for func in graph.functions.values()
        if isinstance(func, tvm.tir.PrimFunc) and "prefetch_panel" in func.script()
    ]
    with target:
        lowered = [tvm.tir.get_default_tir_pipeline(target)(tvm.IRModule({"main": func})).script()
                   for func in asked]  # fmt: skip
    assert ["prefetch(" in text for text in lowered] == [True]


@pytest.mark.covering(1)
@pytest.mark.cpu
@pytest.mark.parametrize("kind", ["llvm -mcpu=haswell", "llvm -mcpu=x86-64-v2", "c"])
@pytest.mark.parametrize("name", ["1x1", "product"])
def test_results_and_code(name: str, kind: str) -> None:
    mod = NETWORKS[name]()
    shape = [int(extent) for extent in mod["main"].params[0].struct_info.shape]
    values = np.random.default_rng(1).standard_normal(shape).astype("float32")
    machine = relax.VirtualMachine(tvm.compile(mod, kind), tvm.cpu())
    found = machine["main"](tvm.runtime.tensor(values)).numpy()
    weight = np.random.default_rng(0).standard_normal((64, 512)).astype("float32")
    if name == "1x1":
        expected = np.einsum("fc,ncyx->nfyx", weight, values)
    else:
        expected = values @ np.random.default_rng(0).standard_normal((512, 256)).astype("float32")
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
