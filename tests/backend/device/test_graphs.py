"""Graphs are compiled to kernels of every kind of GPU, whatever their sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tvm
from tests.backend.device import harness
from tvm import dlight, relax
from tvm.relax import op as o
from tvm.target import Target

pytestmark = pytest.mark.cpu

CASES: dict[str, tuple[Callable[..., Any], Sequence[Sequence[int | str]]]] = {
    "exp": (o.exp, [("n", 64)]),
    "matmul": (o.matmul, [("n", 64), (64, 128)]),
    "softmax": (lambda x: o.nn.softmax(x, -1), [(4, "n")]),
    "sum": (lambda x: o.sum(x, axis=[1]), [("n", 64)]),
    "concat": (lambda a, b: o.concat([a, b], 0), [("n", 64), ("n", 64)]),
    "cumsum": (lambda x: o.cumsum(x, axis=1), [(4, "n")]),
    "convolution": (lambda x, w: o.nn.conv2d(x, w, padding=1), [(1, 3, 16, 16), (8, 3, 3, 3)]),
    "attention": (o.nn.attention, [(1, "n", 4, 16)] * 3),
    "attention of other lengths": (o.nn.attention, [(1, 32, 4, 16), *[(1, 40, 4, 16)] * 2]),
    "argmax": (lambda x: o.argmax(x, axis=1), [("n", 64)]),
    "sort": (lambda x: o.sort(x, axis=1), [(4, 64)]),
}
# their results are int64, which WGSL has not


def graph(make: Callable[..., Any], shapes: Sequence[Sequence[int | str]]) -> tvm.IRModule:
    n = tvm.tir.Var("n", "int64")
    sizes = [[n if size == "n" else size for size in shape] for shape in shapes]
    given = [
        relax.Var(f"x{i}", relax.TensorStructInfo(shape, "float32"))
        for i, shape in enumerate(sizes)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", given):
        with bb.dataflow():
            out = bb.emit_output(bb.normalize(make(*given)))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", ["cuda", "metal", "opencl", "rocm", "webgpu"])
@pytest.mark.parametrize("name", CASES)
def test_graphs_become_kernels(kind: str, name: str) -> None:
    make, shapes = CASES[name]
    built = tvm.compile(graph(make, shapes), Target(kind, host="llvm"))
    assert any(mod.kind == kind or mod.imports for mod in built.mod.imports)


def softmax(x: Any) -> Any:
    grown = np.exp(x - x.max(-1, keepdims=True))
    return grown / grown.sum(-1, keepdims=True)


REDUCTIONS: dict[str, tuple[Callable[..., Any], Sequence[Sequence[int]], Callable[..., Any]]] = {
    "softmax": (lambda x: o.nn.softmax(x, -1), [(4, 100)], softmax),
    "mean": (lambda x: o.mean(x, axis=[1]), [(5, 70)], lambda x: x.mean(1)),
    "argmax": (lambda x: o.argmax(x, axis=1), [(5, 70)], lambda x: x.argmax(1)),
    "gemv": (o.matmul, [(1, 64), (64, 128)], lambda x, w: x @ w),
}


@pytest.mark.covering(1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", harness.LANGUAGES)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_graphs_take_in_all_threads(kind: str, name: str) -> None:
    make, shapes, meaning = REDUCTIONS[name]
    mod = relax.transform.LegalizeOps()(graph(make, shapes))
    with harness.target_of(kind):
        rules = (dlight.gpu.GEMV(), dlight.gpu.Reduction(), dlight.gpu.GeneralReduction())
        mod = dlight.ApplyDefaultSchedule(*rules)(mod)
    (kernel,) = (f for f in mod.functions.values() if isinstance(f, tvm.tir.PrimFunc))
    rng = np.random.default_rng(3)
    inputs = [rng.random(shape, "float32") for shape in shapes]
    wanted = meaning(*inputs)
    result = np.zeros(wanted.shape, wanted.dtype)
    library = harness.built(tvm.IRModule({"main": kernel.with_attr("global_symbol", "main")}), kind)
    harness.run(library, kind, "main", *inputs, result)
    np.testing.assert_allclose(result, wanted, rtol=1e-5)
