"""Products by the instructions of a warp, with what each thread holds by the PTX ISA."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import tir
from tvm.error import TVMError
from tvm.script import tir as T
from tvm.tir import interp

pytestmark = pytest.mark.pure


def one_product(
    shape: str, words: tuple[str, str], counts: tuple[int, int, int], types: tuple[str, str],
    threads: int = 32, saturate: bool = False,
) -> tir.PrimFunc:  # fmt: skip
    """Each thread has its elements in a row of A, of B and of C."""
    (a, b, c), (kind, out) = counts, types

    @T.prim_func
    def func(A: T.Buffer((32, a), kind), B: T.Buffer((32, b), kind), C: T.Buffer((32, c), out)):
        tx = T.launch_thread("threadIdx.x", threads)
        T.evaluate(
            T.ptx_mma(
                shape, "row", "col", words[0], words[0], words[1], A.data, tx * a, B.data, tx * b,
                C.data, tx * c, saturate, dtype=out,
            )
        )  # fmt: skip

    return func


def dense(held: Any, row: Any, column: Any, shape: tuple[int, int]) -> Any:
    matrix = np.zeros(shape, held.dtype)
    for t in range(32):
        for i in range(held.shape[1]):
            matrix[row(t, i), column(t, i)] = held[t, i]
    return matrix


@pytest.mark.parametrize(
    ("shape", "words", "types", "counts", "a_at", "b_at", "sizes"),
    [
        # figures of the sections "Matrix Fragments for mma" of the manual
        ("m8n8k4", ("fp64", "fp64"), ("float64", "float64"), (1, 1, 2),
         (lambda t, i: t // 4, lambda t, i: t % 4), (lambda t, i: t % 4), (8, 8, 4)),
        ("m16n8k4", ("tf32", "fp32"), ("float32", "float32"), (2, 1, 4),
         (lambda t, i: t // 4 + 8 * i, lambda t, i: t % 4), (lambda t, i: t % 4), (16, 8, 4)),
        ("m16n8k8", ("tf32", "fp32"), ("float32", "float32"), (4, 2, 4),
         (lambda t, i: t // 4 + 8 * (i % 2), lambda t, i: t % 4 + 4 * (i // 2)),
         (lambda t, i: t % 4 + 4 * i), (16, 8, 8)),
        ("m16n8k8", ("fp16", "fp32"), ("float16", "float32"), (4, 2, 4),
         (lambda t, i: t // 4 + 8 * (i // 2), lambda t, i: t % 4 * 2 + i % 2),
         (lambda t, i: t % 4 * 2 + i), (16, 8, 8)),
        ("m8n8k16", ("int8", "int32"), ("int8", "int32"), (4, 4, 2),
         (lambda t, i: t // 4, lambda t, i: t % 4 * 4 + i), (lambda t, i: t % 4 * 4 + i),
         (8, 8, 16)),
        ("m16n8k16", ("int8", "int32"), ("int8", "int32"), (8, 4, 4),
         (lambda t, i: t // 4 + 8 * (i // 4), lambda t, i: t % 4 * 4 + i % 4),
         (lambda t, i: t % 4 * 4 + i), (16, 8, 16)),
    ],
)  # fmt: skip
def test_shapes(shape: str, words: Any, types: Any, counts: Any, a_at: Any, b_at: Any,
                sizes: tuple[int, int, int]) -> None:  # fmt: skip
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-4, 5, (32, n)).astype(types[0]) for n in counts[:2])
    c = rng.integers(-4, 5, (32, counts[2])).astype(types[1])
    m, n, k = sizes
    left = dense(a, *a_at, (m, k)).astype("float64")
    right = dense(b, b_at, lambda t, i: t // 4, (k, n)).astype("float64")
    places = lambda t, i: t // 4 + 8 * (i // 2), lambda t, i: t % 4 * 2 + i % 2
    expected = dense(c, *places, (m, n)) + left @ right
    interp.run(one_product(shape, words, counts, types), a, b, c)
    np.testing.assert_array_equal(dense(c, *places, (m, n)), expected)


def test_saturation() -> None:
    a, b = np.full((32, 8), 127, "int8"), np.full((32, 4), 127, "int8")
    for saturate, expected in ((True, 2**31 - 1), (False, -(2**31) + 127 * 127 * 16 - 1)):
        c = np.full((32, 4), 2**31 - 1, "int32")
        func = one_product("m16n8k16", ("int8", "int32"), (8, 4, 4), ("int8", "int32"),
                           saturate=saturate)  # fmt: skip
        interp.run(func, a, b, c)
        assert (c == expected).all()


def test_half_of_a_warp() -> None:
    func = one_product("m16n8k8", ("fp16", "fp32"), (4, 2, 4), ("float16", "float32"), 16)
    with pytest.raises(TVMError, match="run ptx_mma\n  found: 16 of 32 threads of a warp"):
        interp.run(func, np.zeros((32, 4), "float16"), np.zeros((32, 2), "float16"),
                   np.zeros((32, 4), "float32"))  # fmt: skip


def test_other_shapes() -> None:
    func = one_product("m8n8k4", ("fp16", "fp16"), (4, 4, 8), ("float16", "float16"))
    with pytest.raises(TVMError, match="found: shape 'm8n8k4' on fp16, fp16, fp16"):
        interp.run(func, *(np.zeros((32, n), "float16") for n in (4, 4, 8)))


@pytest.mark.parametrize("turned", [False, True])
def test_loads(turned: bool) -> None:
    @T.prim_func
    def func(A: T.Buffer((16, 16), "float16"), B: T.Buffer((32, 4), "float16")):
        tx = T.launch_thread("threadIdx.x", 32)
        S = T.allocate([256], "float16", "shared")
        shared = T.Buffer((256,), "float16", data=S, scope="shared")
        for i in range(8):
            shared[i * 32 + tx] = A[(i * 32 + tx) // 16, (i * 32 + tx) % 16]
        T.tvm_storage_sync("shared")
        T.evaluate(
            T.ptx_ldmatrix(turned, 2, ".b16", B.data, tx * 4, S, tx % 16 * 16, dtype="float16")
        )

    a = np.arange(256).astype("float16").reshape(16, 16)
    b = np.zeros((32, 4), "float16")
    interp.run(func, a, b)
    for t in range(32):
        for i in range(4):
            row, column = t // 4, t % 4 * 2 + i % 2
            piece = a[8 * (i // 2) : 8 * (i // 2) + 8, :8]
            assert b[t, i] == (piece[column, row] if turned else piece[row, column])


def test_results() -> None:
    @T.prim_func
    def func(C: T.Buffer((16, 20), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        R = T.allocate([8], "float32", "local")
        r = T.Buffer((8,), "float32", data=R, scope="local")
        T.evaluate(T.mma_fill(8, R, 0, dtype="float32"))
        for i in range(8):
            r[i] = r[i] + T.Cast("float32", tx * 8 + i)
        T.evaluate(
            T.mma_store(16, 16, T.address_of(C[0, 0]), R, 0, 20, dtype="float32")
        )

    c = np.full((16, 20), -1, "float32")
    interp.run(func, c)
    for i in range(16):
        for j in range(16):
            assert c[i, j] == (4 * (i % 8) + j % 8 // 2) * 8 + 4 * (j // 8) + i // 8 * 2 + j % 2
    assert (c[:, 16:] == -1).all()
