"""Products on tensor cores whose copies run ahead."""

from __future__ import annotations

import re

import pytest

import tvm
from tvm import te, tir
from tvm.contrib import nvrtc
from tvm.dlight.gpu import WarpTiles
from tvm.dlight.gpu.warp_tiles import Tiles
from tvm.target import Target

TARGET = Target("cuda -arch=sm_80", host="llvm")


def product(m: int, n: int, k: int, dtype: str = "float16", turned: bool = False) -> tir.PrimFunc:
    a = te.placeholder((m, k), dtype, name="A")
    b = te.placeholder((n, k) if turned else (k, n), dtype, name="B")
    r = te.reduce_axis((0, k), name="r")

    def term(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        other = b[j, r] if turned else b[r, j]
        return te.sum(a[i, r].astype("float32") * other.astype("float32"), axis=r)

    return te.create_prim_func([a, b, te.compute((m, n), term, name="C")])


def source(func: tir.PrimFunc, tiles: Tiles | None = None) -> str:
    sch = WarpTiles(tiles).apply(func, TARGET, False)
    assert sch is not None
    built = tvm.compile(tvm.IRModule({"main": sch.mod["main"]}), TARGET)
    return str(built.mod.imports[0].inspect_source())


@pytest.mark.covering(1)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_copies_run_ahead(turned: bool, dtype: str) -> None:
    text = source(product(256, 256, 128, dtype, turned))
    assert text.count("cp.async.cg.shared.global") == 8  # three slices ahead and one in the loop
    assert ("col_major" in text) == turned
    # what other threads copied is there only after a barrier
    after = re.findall(r"cp\.async\.wait_group \d;\"\);\n(?:.*fragment<.*\n)*\s*(\S+)", text)
    assert len(after) == 4
    assert set(after) == {"__syncthreads();"}
    if nvrtc.available():
        nvrtc.compile_source(text, "cubin", "sm_80")


def test_places_in_merged_memory_are_counted_in_bytes() -> None:
    text = source(product(128, 128, 128))
    assert "(half*)((char*)buf_dyn_shmem + " in text
    assert not re.search(r"cvta_generic_to_shared\(\(void\*\)\(\(half\*\)buf", text)


@pytest.mark.parametrize(
    "func",
    [product(256, 256, 100), product(256, 250, 128), product(8, 256, 128),
     product(256, 256, 128, "float32")],
    ids=["depth", "columns", "rows", "type"],
)  # fmt: skip
def test_what_it_leaves_to_others(func: tir.PrimFunc) -> None:
    assert WarpTiles().apply(func, TARGET, False) is None
    assert WarpTiles().apply(product(256, 256, 128), Target("cuda -arch=sm_75"), False) is None
