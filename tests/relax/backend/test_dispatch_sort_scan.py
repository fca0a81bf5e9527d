from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax, tir, topi
from tvm.ffi import register_global_func, remove_global_func
from tvm.ir import assert_structural_equal
from tvm.relax.backend import DispatchSortScan
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.target import Target
from tvm.tir.interp import run

pytestmark = pytest.mark.pure
CUDA = Target("cuda", host="llvm")


@I.ir_module
class Graph:
    @R.function
    def main(x: R.Tensor(("m", 5), "float32")):
        with R.dataflow():
            a = R.cumsum(x, axis=1, dtype="float64", exclusive=False)
            b = R.cumprod(x, axis=0)
            c = R.sort(x, axis=1, descending=True)
            d = R.argsort(x, axis=0)
            e = R.topk(x, k=2, axis=1)
            f = R.cumsum(x, axis=0, exclusive=True)
            R.output(a, b, c, d, e, f)
        return a, b, c, d, e, f


def dispatched(target: Target, mod: tvm.IRModule = Graph) -> tvm.IRModule:
    with target:
        return DispatchSortScan()(mod)


def test_on_a_cpu() -> None:
    m = tir.Var("m", "int64")
    x = relax.Var("x", R.Tensor((m, 5), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", (x,)):
        with bb.dataflow():
            outs = [
                bb.emit_te(topi.cumsum, x, axis=1, dtype="float64", exclusive=False),
                bb.emit_te(topi.cumprod, x, axis=0),
                bb.emit_te(topi.sort, x, axis=1, is_ascend=False),
                bb.emit_te(topi.argsort, x, axis=0, is_ascend=True, dtype="int32"),
                bb.emit_te(topi.topk, x, k=2, axis=1, ret_type="both", is_ascend=False,
                           dtype="int32"),
                bb.emit_te(topi.cumsum, x, axis=0, exclusive=True),
            ]  # fmt: skip
            gv = bb.emit_output(relax.Tuple(outs))
        bb.emit_func_output(gv)
    expected = bb.finalize()
    after = dispatched(Target("llvm"))
    assert "R.sort" not in after.script()
    kernels = {v.name_hint: f for v, f in after.functions.items() if v.name_hint != "main"}
    for var, func in expected.functions.items():
        if var.name_hint != "main":
            assert_structural_equal(kernels[var.name_hint], func)


def outputs(mod: tvm.IRModule, array: Any) -> list[Any]:
    """What the kernels of a graph give, in the order of its calls."""
    main = mod["main"]
    assert isinstance(main, relax.Function)
    held: dict[Any, Any] = {main.params[0]: array}
    (block,) = main.body.blocks
    for binding in block.bindings:
        held[binding.var] = _value(mod, held, binding.value)
    result = _value(mod, held, main.body.body)
    return [part for one in result for part in (one if isinstance(one, list) else [one])]


def _value(mod: tvm.IRModule, held: dict[Any, Any], value: Any) -> Any:
    if isinstance(value, relax.Var):
        return held[value]
    if isinstance(value, relax.Tuple):
        return [_value(mod, held, field) for field in value.fields]
    assert isinstance(value, relax.Call)
    if value.op.name == "relax.call_pure_packed":  # a reshape
        return held[value.args[1]]
    infos = value.sinfo_args[0]
    infos = list(infos.fields) if isinstance(infos, relax.TupleStructInfo) else [infos]
    rows = {"m": len(next(iter(held.values())))}
    outs = [np.zeros([rows.get(str(d)) or int(d) for d in i.shape.values], str(i.dtype))
            for i in infos]  # fmt: skip
    run(mod[value.args[0]], *(held[x] for x in value.args[1].fields), *outs)
    return outs if len(outs) > 1 else outs[0]


@pytest.mark.parametrize("target", [Target("llvm"), CUDA, Target("rocm"), Target("vulkan")])
def test_meaning(target: Target) -> None:
    x = np.random.default_rng(0).permutation(20).reshape(4, 5).astype("float32") / 8
    a, b, c, d, values, places, f = outputs(dispatched(target), x)
    np.testing.assert_allclose(a, x.astype("float64").cumsum(1))
    np.testing.assert_allclose(b, x.cumprod(0), rtol=1e-6)
    np.testing.assert_array_equal(c, -np.sort(-x, 1))
    np.testing.assert_array_equal(d, x.argsort(0))
    np.testing.assert_array_equal(values, -np.sort(-x, 1)[:, :2])
    np.testing.assert_array_equal(places, (-x).argsort(1)[:, :2])
    np.testing.assert_allclose(f, np.vstack([np.zeros((1, 5)), x.cumsum(0)[:-1]]), rtol=1e-6)


def test_kernels_have_threads() -> None:
    after = dispatched(CUDA)
    kernels = [f for f in after.functions.values() if isinstance(f, tir.PrimFunc)]
    assert len(kernels) == 6
    assert all("threadIdx.x" in f.script() for f in kernels)
    assert "R.call_tir(cls.gpu_2d_continuous_cumsum" in after.script()
    text = tvm.compile(Graph, CUDA).mod.imports[0].imports[0].inspect_source()
    assert "argsort_kernel_2(" in text  # tiles, and two passes that merge runs
    assert "argsort_kernel_3(" not in text  # places are sorted in the type that is asked
    assert "topk_kernel_2(" in text  # a short sort, and the first of its values and places


def test_devices_of_values() -> None:
    @I.ir_module
    class Mixed:
        I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("cuda", 0)]})

        @R.function
        def foo(x: R.Tensor((4, 5), "float32", "llvm")):
            with R.dataflow():
                y = R.sort(x, axis=1)
                R.output(y)
            return y

        @R.function
        def bar(x: R.Tensor((4, 5), "float32", "cuda")):
            with R.dataflow():
                y = R.sort(x, axis=1)
                R.output(y)
            return y

    after = DispatchSortScan()(Mixed)
    threads = ["threadIdx.x" in after[name].script() for name in ("sort", "sort1")]
    assert sorted(threads) == [False, True]


def test_with_thrust() -> None:
    for name in ("sort", "sum_scan"):
        register_global_func(f"tvm.contrib.thrust.{name}", lambda *args: None)
    try:
        after = dispatched(Target("cuda -libs=thrust", host="llvm"))
    finally:
        for name in ("sort", "sum_scan"):
            remove_global_func(f"tvm.contrib.thrust.{name}")
    text = after.script()
    assert text.count("tvm.contrib.thrust.sort") == 2
    assert text.count("tvm.contrib.thrust.sum_scan") == 1
    # of each element eight times its own bytes, and of places those of an index
    assert 'R.builtin.alloc_tensor(R.shape([m * 5 * 96 + 8388608]), R.dtype("uint8")' in text


@pytest.mark.parametrize("op", ["sort", "argsort"])
def test_a_kernel_that_has_its_threads_is_left_alone(op: str) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((2, 4), "float32"))
    with bb.function("main", (x,)):
        bb.emit_func_output(bb.emit(getattr(relax.op, op)(x, axis=1)))
    kernel = dispatched(CUDA, bb.get())[op]
    assert isinstance(kernel, tir.PrimFunc)
    assert dict(kernel.attrs) == {"tir.noalias": True}
    root = kernel.body.block
    assert isinstance(root.body, tir.BlockRealize), "one block, and no loop around it"
    assert len(root.alloc_buffers) == {"sort": 1, "argsort": 3}[op]


def test_the_rest_of_a_kernel_gets_threads() -> None:
    @I.ir_module
    class Best:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                y = R.topk(x, k=2, axis=1)
                R.output(y)
            return y

    kernel = dispatched(CUDA, Best)["topk"]
    assert kernel.attrs["tir.is_scheduled"]
    own, *others = kernel.body.block.body.seq
    assert isinstance(own, tir.BlockRealize)  # no loop around what has threads
    assert others
    assert all(loop.thread_binding is not None for loop in others)
