"""MergeForms: kernels that differ in sizes alone are one, which is told the sizes."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir import IRModule
from tvm.relax.transform import merge_forms
from tvm.relax.transform.merge_forms import MergeForms
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.tir.analysis.kernel_form import GRAIN
from tvm.tir.function import PrimFunc


@pytest.fixture(autouse=True)
def short_kernels_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_forms, "_LONG", 0)


def kernels(mod: IRModule) -> list[str]:
    return sorted(v.name_hint for v, f in mod.functions.items() if isinstance(f, PrimFunc))


def planes(
    channels: int, last: int, lanes: int = 4, memory: int = 8, grain: int = 1
) -> PrimFunc:
    """The sum of the first `last` of `channels` planes, in vectors."""

    @T.prim_func(private=True, check_well_formed=False)
    def kernel(x: T.handle, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (T.int64(channels), n, T.int64(8)))
        Y = T.match_buffer(y, (n, T.int64(8)))
        row = T.alloc_buffer((T.int64(2), T.int64(memory)), "float32")
        for i in T.parallel(n, annotations={GRAIN: grain}):
            for v in T.vectorized(lanes):
                Y[i, v] = T.float32(0)
        for c in range(T.int64(last)):
            for i in range(n):
                for v in T.vectorized(lanes):
                    row[1, v] = X[c, i, v]
                for v in T.vectorized(lanes):
                    Y[i, v] = Y[i, v] + row[1, v]

    return kernel


def graph(*kernels: tuple[int, ...]) -> IRModule:
    """A graph that adds up what several kernels give."""
    bb = relax.BlockBuilder()
    n = tvm.tir.Var("n", "int64")
    xs = [relax.Var(f"x{i}", R.Tensor((c, n, 8), "float32")) for i, (c, *_) in enumerate(kernels)]
    with bb.function("main", xs):
        total = None
        for i, (x, given) in enumerate(zip(xs, kernels)):
            gvar = bb.add_func(planes(*given), f"kernel{i}")
            info = R.Tensor((n, 8), "float32")
            one = bb.emit(relax.op.call_tir(gvar, (x,), info))
            total = one if total is None else bb.emit(relax.op.add(total, one))
        bb.emit_func_output(total)
    return bb.get()


def run(mod: IRModule, *inputs: np.ndarray) -> np.ndarray:
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm -mcpu=haswell"), tvm.cpu())
    return vm["main"](*[tvm.runtime.tensor(x) for x in inputs]).numpy()


def same_results(mod: IRModule, *channels: int) -> None:
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal((c, 3, 8)).astype("float32") for c in channels]
    # of a row, the kernels write what their vectors hold
    np.testing.assert_array_equal(
        run(mod, *inputs)[:, :4], run(MergeForms()(mod), *inputs)[:, :4]
    )


def test_merges_what_differs_in_sizes() -> None:
    mod = graph((6, 5, 4), (12, 11, 4), (24, 23, 4))
    new = MergeForms()(mod)
    assert kernels(new) == ["kernel0"]
    size = new["kernel0"].params[-1]
    assert isinstance(size, tvm.tir.SizeVar)
    text = new["kernel0"].script()
    assert "size_0 * T.int64(6)" in text
    assert "size_0 * T.int64(6) - T.int64(1)" in text
    calls = [line for line in new["main"].script().splitlines() if "call_tir" in line]
    assert [line.partition("tir_vars=")[2] for line in calls] == [
        "R.shape([1]))", "R.shape([2]))", "R.shape([4]))",
    ]  # fmt: skip
    same_results(mod, 6, 12, 24)


def test_sizes_that_go_their_own_ways() -> None:
    mod = graph((6, 5, 4), (12, 5, 4), (12, 9, 4))
    new = MergeForms()(mod)
    assert kernels(new) == ["kernel0"]
    assert [p.name for p in new["kernel0"].params][-2:] == ["size_0", "size_1"]
    same_results(mod, 6, 12, 12)


def test_memory_is_that_of_the_largest() -> None:
    """But no kernel's rows lie more than twice as far apart as it wants."""
    mod = graph((6, 5, 4, 32), (12, 11, 4, 8), (24, 23, 4, 16), (48, 47, 4, 64))
    new = MergeForms()(mod)
    assert kernels(new) == ["kernel0", "kernel1"]
    assert "T.alloc_buffer((T.int64(2), T.int64(64)))" in new["kernel0"].script()
    assert "T.alloc_buffer((T.int64(2), T.int64(16)))" in new["kernel1"].script()
    same_results(mod, 6, 12, 24, 48)


def test_tasks_are_as_short_as_the_shortest() -> None:
    """But none are shorter than a third of what a kernel wants."""
    mod = graph((6, 5, 4, 8, 5), (12, 11, 4, 8, 3), (24, 23, 4, 8, 2), (48, 47, 4, 8, 1))
    new = MergeForms()(mod)
    assert kernels(new) == ["kernel0", "kernel1"]
    assert [f'"{GRAIN}": {n}' in new[f"kernel{k}"].script() for k, n in ((0, 5), (1, 1))] == [
        True, True,
    ]  # fmt: skip
    same_results(mod, 6, 12, 24, 48)


def test_keeps_what_differs_in_tiles() -> None:
    mod = graph((6, 5, 4), (6, 5, 8))
    assert MergeForms()(mod) is mod


def test_keeps_known_sizes_and_functions_of_others() -> None:
    @I.ir_module
    class Known:
        @T.prim_func(private=True)
        def one(X: T.Buffer((4, 8), "float32"), Y: T.Buffer((4, 8), "float32")):
            for i, v in T.grid(4, 8):
                Y[i, v] = X[i, v] * T.float32(2)

        @T.prim_func(private=True)
        def two(X: T.Buffer((6, 8), "float32"), Y: T.Buffer((6, 8), "float32")):
            for i, v in T.grid(6, 8):
                Y[i, v] = X[i, v] * T.float32(2)

        @R.function
        def main(x: R.Tensor((4, 8), "float32"), y: R.Tensor((6, 8), "float32")):
            cls = Known
            a = R.call_tir(cls.one, (x,), out_sinfo=R.Tensor((4, 8), "float32"))
            b = R.call_tir(cls.two, (y,), out_sinfo=R.Tensor((6, 8), "float32"))
            return (a, b)

    assert MergeForms()(Known) is Known
    mod = graph((6, 5, 4), (12, 11, 4))
    public = {
        var: func.with_attr("global_symbol", var.name_hint) if isinstance(func, PrimFunc) else func
        for var, func in mod.functions.items()
    }
    shown = mod.with_functions(public)
    assert MergeForms()(shown) is shown
