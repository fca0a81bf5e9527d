"""Products of small numbers in tile registers: when, and with which results."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_dots import halves, product, reason, schedule
from tests.dlight.programs import random_names, with_names
from tvm import relax, tir
from tvm.dlight.cpu.tile_products import choose_tiles
from tvm.target import Target
from tvm.target.host_cpu import host_cpu

LINUX = "llvm -mtriple=x86_64-unknown-linux-gnu -mcpu="
SPR = Target(LINUX + "sapphirerapids")
HERE = host_cpu().features >= {"amx-int8", "amx-bf16"}
RANGE = {"int8": (-128, 128), "uint8": (0, 256)}
BYTES = [(one, many) for one in RANGE for many in RANGE]


def numbers(dtype: str, *shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).integers(*RANGE[dtype], shape).astype(dtype)


@pytest.mark.pure
def test_the_registers_follow_the_machine() -> None:
    func = product(64, 128, 256)
    assert reason(func, SPR).startswith("2x2 tile registers of 16x16 sums, columns packed into a")
    for other in ("cascadelake", "znver4", "sapphirerapids -mattr=-amx-int8"):
        assert "tile registers" not in reason(func, Target(LINUX + other))
    elsewhere = Target("llvm -mtriple=x86_64-pc-windows-msvc -mcpu=sapphirerapids")
    assert "tile registers" not in reason(func, elsewhere)
    assert "tile registers" in reason(halves(64, 64, 64), SPR)
    assert "tile registers" not in reason(product(2, 16, 8), SPR)
    assert reason(with_names(func, random_names()), SPR) == reason(func, SPR)


@pytest.mark.pure
def test_tiles_divide_rows_and_sums() -> None:
    tiles, cycles = choose_tiles(196, 256, 144, 4)
    assert (tiles.rows * tiles.high, tiles.groups) == (28, 12)
    assert choose_tiles(49, 256, 144, 4)[1] < cycles
    assert choose_tiles(None, None, 768, 4)[0].groups == 16


@pytest.mark.pure
def test_text() -> None:
    func = product(64, 128, 256, scale=True).with_attr("layout_free_buffers", [1])
    text = schedule(func, SPR).mod.script()
    for part in ('"x86_tiles": [1, 0, ', '"llvm.x86.tdpbusd"', '"llvm.x86.tilestored64"',
                 '"meta_schedule.layout_rewrite_preproc": True'):  # fmt: skip
        assert part in text
    code = tvm.compile(schedule(func, SPR).mod, target=SPR).mod.inspect_source("asm")
    order = ["syscall", "ldtilecfg", "tilezero", "tdpbusd", "tilestored", "tilerelease"]
    places = [code.index(word) for word in order]
    assert places == sorted(places)
    assert code.count("ldtilecfg") == 1


amx = pytest.mark.skipif(not HERE, reason="no tile registers here")


@pytest.mark.covering(1)
@amx
@pytest.mark.parametrize(("one", "many"), BYTES)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(64, 128, 256), (17, 41, 130), (100, 96, 60), (33, 64, 64), (49, 256, 144)]
)
def test_bytes(m: int, n: int, k: int, one: str, many: str) -> None:
    a, b = numbers(one, m, k), numbers(many, k, n)
    func = product(m, n, k, one, many)
    assert "tile registers" in reason(func, SPR)
    run = tvm.compile(schedule(func, SPR).mod, target=SPR)
    c = tvm.runtime.empty((m, n), "int32")
    run(tvm.runtime.tensor(a), tvm.runtime.tensor(b), c)
    np.testing.assert_array_equal(c.numpy(), a.astype("int32") @ b.astype("int32"))


@amx
@pytest.mark.parametrize("threads", ["serial", "threads"])
def test_epilogues_batches_and_transposed_weights(threads: str) -> None:
    m, n, k = (24, 96, 64) if threads == "serial" else (200, 512, 640)
    a, b = numbers("int8", 3, m, k), numbers("uint8", n, k)
    factors = np.random.default_rng(1).standard_normal(n).astype("float32")
    func = product(m, n, k, "int8", "uint8", transposed=True, batch=(3,), scale=True)
    run = tvm.compile(schedule(func, SPR).mod, target=SPR)
    d = tvm.runtime.empty((3, m, n), "float32")
    run(*(tvm.runtime.tensor(x) for x in (a, b, factors)), d)
    exact = (a.astype("int32") @ b.astype("int32").T).astype("float32")
    np.testing.assert_array_equal(d.numpy(), exact * factors)


@amx
def test_any_number_of_rows() -> None:
    """In a graph, whose extents have 64 bits."""
    bb = relax.BlockBuilder()
    weight = numbers("int8", 64, 96)
    x = relax.Var("x", relax.TensorStructInfo((tir.Var("m", "int64"), 64), "uint8"))
    with bb.function("main", [x]):
        with bb.dataflow():
            made = bb.emit(relax.op.matmul(x, relax.const(weight), out_dtype="int32"))
            made = bb.emit_output(relax.op.nn.relu(made))
        bb.emit_func_output(made)
    compiled = tvm.compile(bb.get(), SPR)
    machine = relax.VirtualMachine(compiled, tvm.cpu())
    for m in (1, 7, 33, 64):
        a = numbers("uint8", m, 64)
        exact = np.maximum(a.astype("int32") @ weight.astype("int32"), 0)
        np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(a)).numpy(), exact)


@amx
@pytest.mark.parametrize(("m", "n", "k"), [(64, 64, 64), (130, 72, 201)])
def test_bfloat16(m: int, n: int, k: int) -> None:
    """Products of numbers of few digits are exact in any order."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-99, 99, s).astype(ml_dtypes.bfloat16) for s in ((m, k), (n, k)))
    func = halves(m, n, k)
    assert "tile registers" in reason(func, SPR)
    run = tvm.compile(schedule(func, SPR).mod, target=SPR)
    c = tvm.runtime.empty((m, n), "float32")
    run(tvm.runtime.tensor(a), tvm.runtime.tensor(b), c)
    np.testing.assert_array_equal(c.numpy(), a.astype("float32") @ b.astype("float32").T)
