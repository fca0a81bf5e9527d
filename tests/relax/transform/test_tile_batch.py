"""Chains of layers that run image by image: which, and that nothing else changes."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import PLAIN
from tvm import relax
from tvm.relax import op
from tvm.relax.interp import Interpreter
from tvm.relax.transform import tile_batch
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
    ex = build(mod, f"llvm -mcpu={PLAIN}")
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


def _operator(rng, a, b, weights):
    """An operator on what there is, along any axis; None where it does not fit."""
    ndim, (count, *rest) = a.struct_info.ndim, a.struct_info.shape.values
    sizes = [int(e) for e in rest]
    axis, later = rng.randrange(ndim), rng.randrange(1, ndim)
    order = list(range(ndim))
    rng.shuffle(order)
    if rng.random() < 0.7:
        order = [0, *(k for k in order if k)]
    same, image, lines = b.struct_info.ndim == ndim, ndim == 4, ndim == 3
    half = int(np.prod(sizes)) // 2
    made = {
        "relu": lambda: op.nn.relu(a),
        "conv2d": lambda: op.nn.conv2d(a, weights(4, sizes[0], 3, 3), padding=1) if image else None,
        "pool": lambda: op.nn.max_pool2d(a, (3, 3), padding=1) if image else None,
        "add": lambda: op.add(a, b) if same else None,
        "concat": lambda: op.concat([a, b], axis) if same else None,
        "softmax": lambda: op.nn.softmax(a, axis),
        "mean": lambda: op.mean(a, [axis], keepdims=rng.random() < 0.5),
        "permute": lambda: op.permute_dims(a, order),
        "reshape": lambda: op.reshape(a, (count, 2, half)) if np.prod(sizes) % 2 == 0 else None,
        "split": lambda: op.split(a, 2, later),
        "expand": lambda: op.expand_dims(a, later),
        "slice": lambda: op.strided_slice(a, [axis], [0], [2]),
        "matmul": lambda: op.matmul(a, weights(sizes[-1], 5)) if lines else None,
        "products": lambda: op.matmul(a, op.permute_dims(b, [0, 2, 1])) if same and lines else None,
        "cumsum": lambda: op.cumsum(a, axis),
    }  # fmt: skip
    return made[rng.choice(list(made))]()


def _random_network(rng, batch):
    numbers = np.random.default_rng(rng.randrange(1 << 30))

    def weights(*shape):
        return relax.const((numbers.standard_normal(shape) * 0.3).astype("float32"))

    bb = relax.BlockBuilder()
    live = [relax.Var(name, R.Tensor((batch, 4, 6, 6), "float32")) for name in "xy"]
    with bb.function("main", list(live)):
        with bb.dataflow():
            for _ in range(rng.randrange(4, 14)):
                try:
                    call = _operator(rng, rng.choice(live), rng.choice(live), weights)
                    var = None if call is None else bb.emit(call)
                except (tvm.TVMError, ValueError):
                    continue  # shapes that do not fit
                if var is None:
                    continue
                if isinstance(var.struct_info, relax.TupleStructInfo):
                    var = bb.emit(relax.TupleGetItem(var, rng.randrange(2)))
                if isinstance(var.struct_info.shape, relax.ShapeExpr) and var.struct_info.ndim < 6:
                    live.append(var)
            made = rng.sample(live[2:] or [bb.emit(op.exp(live[0]))], min(len(live[2:]) or 1, 2))
            outs = [bb.emit_output(var) for var in made]
            out = outs[0] if len(outs) == 1 else bb.emit_output(tuple(outs))
        bb.emit_func_output(out)
    return bb.get()


def _interpreted(mod, args):
    """The results, or None where sizes that only running knows do not fit."""
    try:
        found = Interpreter(mod).run("main", *args)
    except (tvm.TVMError, ValueError):
        return None
    return list(found) if isinstance(found, (tuple, list)) else [found]


def test_random_networks_with_random_chains(monkeypatch):
    chains = 0
    for seed in range(40):
        rng = random.Random(seed)
        batch = rng.choice([3, 4, None])
        mod = _random_network(rng, T.SizeVar("n", "int64") if batch is None else batch)
        gains = random.Random(seed)
        monkeypatch.setattr(
            tile_batch._Tiler, "_gain", lambda *_, gains=gains: gains.choice([-1e6, 1e6, 2e6])
        )
        tiled = TileBatch(SMALL)(mod)
        chains += tiled is not mod
        assert relax.analysis.well_formed(tiled)
        shape = (batch or rng.choice([1, 3]), 4, 6, 6)
        numbers = np.random.default_rng(seed)
        args = [numbers.standard_normal(shape).astype("float32") for _ in range(2)]
        want, found = _interpreted(mod, args), _interpreted(tiled, args)
        assert (want is None) == (found is None)
        for a, b in zip(want or [], found or [], strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5, err_msg=str(seed))
    assert chains > 10


def test_a_chain_that_reads_items_of_a_tuple_made_before_it(monkeypatch):
    """The halves of a split are taken within a chain that begins behind the split."""
    gains = iter([-1e6, 2e6, 2e6])
    monkeypatch.setattr(tile_batch._Tiler, "_gain", lambda *_: next(gains))
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((T.SizeVar("n", "int64"), 4, 6, 6), "float32"))
    weight = relax.const(np.full((2, 2, 1, 1), 0.5, "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            halves = bb.emit(op.split(x, 2, 1))
            first = bb.emit(op.nn.max_pool2d(x, (1, 1)))
            half = bb.emit(relax.TupleGetItem(halves, 1))
            made = bb.emit(op.nn.conv2d(half, weight))
            out = bb.emit_output(relax.Tuple([first, made]))
        bb.emit_func_output(out)
    mod = bb.get()
    args = [np.random.default_rng(0).standard_normal((3, 4, 6, 6)).astype("float32")]
    want, found = _interpreted(mod, args), _interpreted(TileBatch(SMALL)(mod), args)
    for a, b in zip(want, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5)


def test_one_layer_alone_is_no_chain(monkeypatch):
    """What it reads and writes moves in any order."""
    monkeypatch.setattr(tile_batch._Tiler, "_gain", lambda *_: 1e6)
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((T.SizeVar("n", "int64"), 4, 6, 6), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(op.exp(bb.emit(op.nn.max_pool2d(x, (2, 2)))))
        bb.emit_func_output(out)
    mod = bb.get()
    assert TileBatch(SMALL)(mod) is mod
