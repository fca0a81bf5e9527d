"""Chains of layers that run image by image: which, and that nothing else changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.transform.tile_batch import TileBatch
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.target import Target

# a core whose caches hold one image of these networks, and no batch
SMALL = replace(Target("llvm -mcpu=haswell").cpu, l2_bytes=256 << 10, l3_bytes=512 << 10, cores=1)
RNG = np.random.default_rng(3)


def _weights(*shape: int) -> relax.Constant:
    return relax.const((RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype("float32"))


def _network(batch, tail="mean"):
    """Convolutions with a branch around two of them, then something over whole images."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((batch, 4, 48, 48), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            a = bb.emit(relax.op.nn.relu(relax.op.nn.conv2d(x, _weights(12, 4, 3, 3), padding=1)))
            b = bb.emit(relax.op.nn.conv2d(a, _weights(12, 12, 1, 1)))
            c = bb.emit(relax.op.add(relax.op.nn.silu(b), a))
            d = bb.emit(relax.op.concat([c, relax.op.nn.max_pool2d(c, (3, 3), padding=1)], 1))
            d = bb.emit(relax.op.reshape(d, (batch, 24, 48 * 48)))
            d = bb.emit(relax.op.reshape(d, (batch, 24, 48, 48)))
            e = bb.emit(relax.op.nn.conv2d(d, _weights(6, 24, 3, 3), strides=2, padding=1))
            if tail == "mean":
                out = bb.emit_output(relax.op.mean(e, [0, 2, 3]))
            else:
                out = bb.emit_output((relax.op.sum(e, [1]), c))
        bb.emit_func_output(out)
    return bb.get()


def _functions(mod):
    return {v.name_hint: f for v, f in mod.functions.items() if isinstance(f, relax.Function)}


def _run(mod, x, build=tvm.compile):
    ex = build(mod, "llvm -mcpu=x86-64-v2")
    found = relax.VirtualMachine(ex, tvm.cpu())["main"](tvm.runtime.tensor(x))
    return [part.numpy() for part in (found if not hasattr(found, "numpy") else [found])]


def _bytecode(mod, target):
    return relax.build(mod, target, exec_mode="bytecode")


@pytest.mark.parametrize(("batch", "tail"), [(5, "mean"), (None, "two results")])
def test_a_chain_is_a_loop_over_images(batch, tail):
    extent = T.SizeVar("n", "int64") if batch is None else batch
    plain = _network(extent, tail)
    tiled = TileBatch(SMALL)(plain)
    assert sorted(_functions(tiled)) == ["image", "loop", "main"]
    image = _functions(tiled)["image"]
    assert [int(e) for e in image.params[0].struct_info.shape] == [1, 4, 48, 48]
    assert relax.analysis.well_formed(tiled)
    for count in (5,) if batch else (3, 1):
        x = RNG.standard_normal((count, 4, 48, 48)).astype("float32")
        want = _run(plain, x)
        for build in (tvm.compile, _bytecode) if count == 3 else (tvm.compile,):
            for a, b in zip(_run(tiled, x, build), want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_no_chain_where_nothing_is_gained():
    large = replace(SMALL, l2_bytes=64 << 20, l3_bytes=128 << 20)
    for cpu, mod in ((large, _network(5)), (SMALL, _network(1))):
        assert TileBatch(cpu)(mod) is mod


def test_heavy_weights_are_read_once():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((8, 256, 7, 7), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.nn.conv2d(x, _weights(512, 256, 3, 3), padding=1))
            y = bb.emit_output(relax.op.nn.conv2d(y, _weights(256, 512, 3, 3), padding=1))
        bb.emit_func_output(y)
    mod = bb.get()
    assert TileBatch(SMALL)(mod) is mod


def test_programs_without_images_stay():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((64, 256), "float32")) -> R.Tensor((64, 256), "float32"):
            with R.dataflow():
                gv = R.exp(x)
                R.output(gv)
            return gv

    assert TileBatch(SMALL)(Module) is Module
