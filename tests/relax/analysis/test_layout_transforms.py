"""Suggested layouts of blocks and inputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import tvm
from tvm import te, tir
from tvm.error import TVMError
from tvm.relax.analysis import suggest_layout_transforms
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def _texts(func: tir.PrimFunc, *maps: Callable[..., Any]) -> dict[str, str]:
    """The suggestions by name of block or buffer."""
    found = suggest_layout_transforms(func, list(maps))
    result: dict[str, str] = {}
    for block, layouts in found.items():
        for key, layout in layouts.items():
            name = block.name_hint if isinstance(key, tir.Block) else key.name
            shape = [v for v in layout.final_indices]
            result[name] = re.sub(r"T.int64\((\d+)\)", r"\1", ", ".join(map(str, shape)))
    return result


def _apply(func: tir.PrimFunc, *maps: Callable[..., Any]) -> tir.PrimFunc:
    sch = tir.Schedule(func)
    for block, layouts in suggest_layout_transforms(func, list(maps)).items():
        rv = sch.get_block(block.name_hint)
        for key, layout in layouts.items():
            if isinstance(key, tir.Block):
                sch.transform_block_layout(rv, layout)
            else:
                sch.transform_layout(rv, key, layout)
    return sch.mod["main"]


@T.prim_func
def elementwise(A: T.Buffer((32, 64, 8, 8), "float32"), B: T.Buffer((32, 64, 8, 8), "float32")):
    for i, j, k, l in T.grid(32, 64, 8, 8):
        with T.block("compute"):
            n, c, h, w = T.axis.remap("SSSS", [i, j, k, l])
            B[n, c, h, w] = T.max(A[n, c, h, w], T.float32(0))


@T.prim_func
def reduction(A: T.Buffer((32, 64, 8, 8), "float32"), B: T.Buffer((32, 64), "float32")):
    for i, j, k, l in T.grid(32, 64, 8, 8):
        with T.block("compute"):
            n, c, h, w = T.axis.remap("SSRR", [i, j, k, l])
            with T.init():
                B[n, c] = T.float32(0)
            B[n, c] = B[n, c] + A[n, c, h, w]


@T.prim_func
def interleaved(A: T.Buffer((32, 6, 64, 8), "float32"), B: T.Buffer((32, 64), "float32")):
    for i, j, k, l in T.grid(32, 6, 64, 8):
        with T.block("compute"):
            n, r, c, s = T.axis.remap("SRSR", [i, j, k, l])
            with T.init():
                B[n, c] = T.float32(0)
            B[n, c] = B[n, c] + A[n, r, c, s]


def test_all_dimensions_follow() -> None:
    found = _texts(elementwise, lambda n, c, h, w: (n, h, w, c))
    assert set(found.values()) == {"n, h, w, c"}
    assert set(found) == {"compute", "A", "B"}
    after = _apply(elementwise, lambda n, c, h, w: (n, h, w, c))
    assert [int(v) for v in after.buffer_map[after.params[0]].shape] == [32, 8, 8, 64]


def test_reductions_keep_their_place() -> None:
    found = _texts(reduction, lambda n, c: (n, c // 4, c % 4))
    assert found["compute"] == "n, c // 4, h, w, c % 4"
    assert found["A"] == "n, c // 4, h, w, c % 4"
    found = _texts(interleaved, lambda n, c: (n, c // 4, c % 4))
    assert found["compute"] == "n, r, c // 4, s, c % 4"
    assert found["A"] == "n, r, c // 4, s, c % 4"
    after = _apply(interleaved, lambda n, c: (n, c // 4, c % 4))
    assert [int(v) for v in after.buffer_map[after.params[0]].shape] == [32, 6, 16, 8, 4]


def test_dimensions_joined() -> None:
    @T.prim_func
    def func(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 8), "float32")):
        for i, j, k in T.grid(4, 8, 4):
            with T.block("compute"):
                a, b, r = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[a, b] = T.float32(0)
                B[a, b] = B[a, b] + A[b, r]

    found = _texts(func, lambda i, j: [i * 8 + j])
    assert found["compute"] == "a * 8 + b, r"
    assert "A" not in found


def test_windows_and_broadcasts() -> None:
    @T.prim_func
    def pool(
        A: T.Buffer((2, 8, 9, 9), "float32"),
        S: T.Buffer((8, 1, 1), "float32"),
        B: T.Buffer((2, 8, 4, 4), "float32"),
    ):
        for i, j, k, l, p, q in T.grid(2, 8, 4, 4, 2, 2):
            with T.block("pool"):
                n, c, h, w, r, s = T.axis.remap("SSSSRR", [i, j, k, l, p, q])
                with T.init():
                    B[n, c, h, w] = T.float32(0)
                B[n, c, h, w] = T.max(B[n, c, h, w], A[n, c, h * 2 + r, w * 2 + s] * S[c, 0, 0])

    found = _texts(pool, lambda n, c, h, w: (n, h, w, c))
    assert found["A"] == "n, h, w, c"
    assert found["pool"] == "n, h, w, c, r, s"
    assert found["S"] == "c, i1, i2"


def test_layouts_that_do_not_divide() -> None:
    assert _texts(reduction, lambda n, c: (n, c // 5, c % 5)) == {}


def test_nothing_is_said_of_accesses_that_are_not_clear() -> None:
    @T.prim_func
    def diagonal(A: T.Buffer((32,), "float32"), B: T.Buffer((32, 32), "float32")):
        for i in range(32):
            with T.block("compute"):
                n = T.axis.spatial(32, i)
                B[n, n] = A[n]

    assert _texts(diagonal, lambda a, b: (b, a)) == {}

    @T.prim_func
    def transposed(A: T.Buffer((64, 32), "float32"), B: T.Buffer((32, 64), "float32")):
        for i, j in T.grid(32, 64):
            with T.block("compute"):
                a, b = T.axis.remap("SS", [i, j])
                B[a, b] = A[b, a]

    assert "A" not in _texts(transposed, lambda a, b: (a, b // 4, b % 4))
    assert suggest_layout_transforms(reduction, []) == {}


def test_intermediate_buffers_pass_it_on() -> None:
    @T.prim_func
    def two(A: T.Buffer((32, 64), "float32"), B: T.Buffer((32, 64), "float32")):
        C = T.alloc_buffer((32, 64))
        for i, j in T.grid(32, 64):
            with T.block("first"):
                n, c = T.axis.remap("SS", [i, j])
                C[n, c] = A[n, c] + T.float32(1)
        for i, j in T.grid(32, 64):
            with T.block("second"):
                n, c = T.axis.remap("SS", [i, j])
                B[n, c] = C[n, c] * T.float32(2)

    found = _texts(two, lambda n, c: (c, n))
    assert found == {"second": "c, n", "B": "c, n", "C": "c, n", "first": "c, n", "A": "c, n"}


def test_rejects() -> None:
    with pytest.raises(TVMError, match="Incompatible PrimFunc and write_transformations"):
        suggest_layout_transforms(reduction, [lambda n, c: (c, n)] * 3)
    with pytest.raises(tvm.TVMError, match="Mismatch between output buffer shape and index map"):
        suggest_layout_transforms(reduction, [lambda n, c, h: (n, h, c)])
    with pytest.raises(AssertionError):
        suggest_layout_transforms(reduction, [2])  # type: ignore[list-item]


def _copies(dtype: str, read: Callable[[Any, Any], list[Any]]) -> tir.PrimFunc:
    """o[i, j] = a[read(i, j)] with loops of `dtype`."""
    shape = [tir.IntImm(dtype, 8), tir.IntImm(dtype, 16)]
    a = te.placeholder(shape, "float32", name="a")
    o = te.compute(shape, lambda i, j: a(*read(i, j)), name="o")
    return te.create_prim_func([a, o], index_dtype_override=dtype)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_maps_have_the_type_of_the_loops(dtype: str) -> None:
    func = _copies(dtype, lambda i, j: [i, j])
    (found,) = suggest_layout_transforms(func, [lambda i, j: (j, i // 4, i % 4)]).values()
    assert len(found) == 3
    for layout in found.values():
        assert {str(e.dtype) for e in (*layout.initial_indices, *layout.final_indices)} == {dtype}


@pytest.mark.parametrize("through", [lambda i: tir.max(i, 3), lambda i: tir.min(i, 3)])
def test_a_read_that_is_not_affine_keeps_its_layout(through: Callable[[Any], Any]) -> None:
    func = _copies("int32", lambda i, j: [through(i), j])
    (found,) = suggest_layout_transforms(func, [lambda i, j: (j, i // 4, i % 4)]).values()
    assert sorted(getattr(key, "name", "block") for key in found) == ["block", "o"]
