"""Attention by blocks of queries: which programs, with which masks, and that values stay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import PLAIN
from tvm import relax
from tvm.relax import op
from tvm.relax.interp import Interpreter
from tvm.relax.transform import tile_attention
from tvm.relax.transform.tile_attention import TileAttention
from tvm.script import relax as R
from tvm.target import Target

CPU = replace(Target("llvm -mcpu=haswell").cpu, l2_bytes=4 << 10, l3_bytes=32 << 10, cores=1)


@pytest.fixture(autouse=True)
def _small_programs_count(monkeypatch):
    monkeypatch.setattr(tile_attention, "ENOUGH", -1e18)


def _attention(lead, queries, keys, mask=(1,), *, dtype="float32", axis=-1, shown=False):
    """softmax(q k / 3 + mask, nan as 0) v."""
    bb = relax.BlockBuilder()
    shapes = {"q": (*lead, queries, 8), "k": (*lead, 8, keys), "v": (*lead, keys, 5), "m": mask}
    params = [relax.Var(name, R.Tensor(shape, dtype)) for name, shape in shapes.items()]
    q, k, v, m = params
    third = relax.const(np.full((1,) * (len(lead) + 2), 1 / 3, dtype))
    with bb.function("main", params):
        with bb.dataflow():
            scores = bb.emit(op.multiply(bb.emit(op.matmul(q, k)), third))
            scores = bb.emit(op.add(m, scores))
            weights = bb.emit(op.nn.softmax(scores, axis))
            none = bb.emit(op.isnan(weights))
            weights = bb.emit(op.where(none, relax.const(0.0, dtype), weights))
            out = bb.emit(op.matmul(weights, v))
            out = bb.emit_output((out, weights) if shown else out)
        bb.emit_func_output(out)
    return bb.get()


def _args(mod):
    rng = np.random.default_rng(1)
    shapes = [[int(e) for e in p.struct_info.shape.values] for p in mod["main"].params]
    return [(rng.standard_normal(shape) / 3).astype("float32") for shape in shapes]


def _blocks(mod):
    """The shapes of the queries that the blocks take."""
    return [
        tuple(int(e) for e in f.params[0].struct_info.shape.values)
        for v, f in mod.functions.items()
        if v.name_hint.startswith("attention_block")
    ]


@pytest.mark.parametrize(
    ("lead", "mask"),
    [
        ((2, 3), (1,)), ((2, 3), (64,)), ((2, 3), (96, 64)), ((2, 3), (96, 1)),
        ((2, 3), (2, 1, 1, 64)), ((2, 3), (2, 3, 1, 64)), ((2, 3), (2, 3, 96, 64)),
        ((1, 4), (1, 1, 96, 64)), ((1, 4), (1, 4, 96, 1)), ((5,), (5, 1, 64)), ((5,), (1, 96, 64)),
    ],
)  # fmt: skip
def test_values_stay(lead, mask):
    mod = _attention(lead, 96, 64, mask)
    tiled = TileAttention(CPU)(mod)
    assert _blocks(tiled) == [(1, 32, 8)]
    assert relax.analysis.well_formed(tiled)
    args = _args(mod)
    want = Interpreter(mod).run("main", *args)
    np.testing.assert_allclose(Interpreter(tiled).run("main", *args), want, rtol=1e-5, atol=1e-6)


def test_compiled_code_agrees():
    mod = TileAttention(CPU)(_attention((2, 2), 48, 80, (2, 1, 1, 80)))
    args = _args(mod)
    vm = relax.VirtualMachine(tvm.compile(mod, f"llvm -mcpu={PLAIN}"), tvm.cpu())
    found = vm["main"](*map(tvm.runtime.tensor, args)).numpy()
    want = Interpreter(mod).run("main", *args)
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_queries_that_nothing_divides_are_one_block_a_head():
    assert _blocks(TileAttention(CPU)(_attention((2, 3), 97, 64))) == [(1, 97, 8)]


def test_a_mask_that_layers_share_is_read():
    bb = relax.BlockBuilder()
    shape = R.Tensor((1, 4, 96, 96), "float32")
    params = [relax.Var(name, shape) for name in "abc"]
    with bb.function("main", params):
        with bb.dataflow():
            mask = bb.emit(op.multiply(params[1], params[2]))  # of the extents of scores
            x = params[0]
            for _ in range(2):
                scores = bb.emit(op.add(bb.emit(op.matmul(x, params[1])), mask))
                x = bb.emit(op.matmul(bb.emit(op.nn.softmax(scores, -1)), params[2]))
            out = bb.emit_output(x)
        bb.emit_func_output(out)
    mod = bb.get()
    tiled = TileAttention(CPU)(mod)
    assert len([v for v in tiled.functions if v.name_hint.startswith("loop")]) == 2
    assert len(_blocks(tiled)) == 1, "blocks that are alike are one function"
    args = _args(mod)
    want = Interpreter(mod).run("main", *args)
    np.testing.assert_allclose(Interpreter(tiled).run("main", *args), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "mod",
    [
        _attention((2, 3), 96, 64, shown=True),  # the weights are a result
        _attention((2, 3), 96, 64, axis=2),  # no row of scores is alone
        _attention((2, 3), 96, 64, dtype="float16"),
        _attention((2, 3), 96, 64, (2, 1, 96, 64)),  # a mask of neither one head nor all
        _attention((2, 3), tvm.tir.SizeVar("n", "int64"), 64),
    ],
)  # fmt: skip
def test_other_programs_stay(mod):
    assert TileAttention(CPU)(mod) is mod


def _operator(mask=None, **options):
    bb = relax.BlockBuilder()
    params = [relax.Var(n, R.Tensor((2, e, 3, 8), "float32")) for n, e in zip("qkv", (96, 64, 64))]
    bias = [] if mask is None else [relax.Var("bias", R.Tensor(mask, "float32"))]
    with bb.function("main", [*params, *bias]):
        with bb.dataflow():
            out = bb.emit_output(op.nn.attention(*params, *bias, **options))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize("options", [{}, {"scale": 0.7}, {"mask": (2, 1, 1, 64)}])
def test_attention_operators(options):
    mod = _operator(**options)
    tiled = TileAttention(CPU)(mod)
    assert _blocks(tiled) == [(1, 32, 8)]
    args = _args(mod)
    want = Interpreter(mod).run("main", *args)
    np.testing.assert_allclose(Interpreter(tiled).run("main", *args), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "mod", [_operator(causal_mask="TopLeft"), _operator(window_size=8), _operator((2, 1, 96, 64))]
)
def test_attention_operators_of_other_forms_stay(mod):
    assert TileAttention(CPU)(mod) is mod


def test_small_scores_stay(monkeypatch):
    monkeypatch.undo()
    mod = _attention((2, 3), 96, 64)
    assert TileAttention(Target("llvm -mcpu=znver4").cpu)(mod) is mod
