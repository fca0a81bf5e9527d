"""Kernels that show what the languages have to say, with their meaning in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tvm import tir
from tvm.ir.module import IRModule
from tvm.script import tir as T

Arrays = list[Any]


class Program(NamedTuple):
    """A function, its arguments (the last one is the result), and the result that is right."""

    func: tir.PrimFunc
    make: Callable[[np.random.Generator], Arrays]
    meaning: Callable[..., Any]
    not_in: tuple[str, ...] = ()  # languages without the types or the operators
    tolerance: float = 1e-5


PROGRAMS: dict[str, Program] = {}


def _floats(*shapes: tuple[int, ...], dtype: str = "float32") -> Callable[[Any], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes[:-1]]
        return [*arrays, np.zeros(shapes[-1], dtype)]

    return make


def _keep(
    func: tir.PrimFunc, make: Callable[[Any], Arrays], meaning: Callable[..., Any], *,
    not_in: tuple[str, ...] = (), tolerance: float = 1e-5, name: str = "",
) -> None:  # fmt: skip
    """Keep a function under its name."""
    found = name or str(func.attrs["global_symbol"])
    func = func.with_attr("global_symbol", found)
    PROGRAMS[found] = Program(func, make, meaning, not_in, tolerance)


# --- elementwise ---


@T.prim_func
def add_one(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    T.func_attr({"tir.noalias": True})
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(64, bx * 32 + tx)
                B[i] = A[i] + T.float32(1)


_keep(add_one, _floats((64,), (64,)), lambda a: a + 1)


@T.prim_func
def vectorized(
    A: T.Buffer((8, 64), "float32"),
    B: T.Buffer((8, 64), "float32"),
    C: T.Buffer((8, 64), "float32"),
):
    T.func_attr({"tir.noalias": True})
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            for v in T.vectorized(4):
                with T.block("C"):
                    i, j = T.axis.remap("S", [bx]), T.axis.spatial(64, tx * 4 + v)
                    C[i, j] = A[i, j] * T.float32(2) + B[i, j]


_keep(vectorized, _floats((8, 64), (8, 64), (8, 64)), lambda a, b: a * 2 + b)


@T.prim_func
def bytes_wrap(A: T.Buffer((256,), "int8"), B: T.Buffer((256,), "int8")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            for v in T.vectorized(4):
                with T.block("B"):
                    i = T.axis.spatial(256, bx * 64 + tx * 4 + v)
                    B[i] = A[i] * T.int8(3) - T.int8(7)


_keep(
    bytes_wrap,
    lambda rng: [rng.integers(-100, 100, 256).astype("int8"), np.zeros(256, "int8")],
    lambda a: (a.astype("int32") * 3 - 7).astype("int8"),
    not_in=("webgpu",),
)


@T.prim_func
def functions(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(128, bx * 32 + tx)
                B[i] = T.sigmoid(A[i]) * T.sqrt(T.fabs(A[i]))


_keep(functions, _floats((128,), (128,)), lambda a: 1 / (1 + np.exp(-a)) * np.sqrt(np.abs(a)))


def _erf(a: Any) -> Any:
    import math

    return np.vectorize(math.erf)(a) + np.log1p(np.abs(a)) + np.tanh(a) - np.floor(a)


@T.prim_func
def rarer_functions(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(64, tx)
            B[i] = T.erf(A[i]) + T.log1p(T.fabs(A[i])) + T.tanh(A[i]) - T.floor(A[i])


_keep(rarer_functions, _floats((64,), (64,)), _erf)


@T.prim_func
def guarded(A: T.Buffer((60,), "float32"), B: T.Buffer((60,), "float32")):
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(60, bx * 32 + tx)
                T.where(bx * 32 + tx < 60)
                B[i] = T.Select(A[i] > T.float32(0), A[i], A[i] * T.float32(0.1))


_keep(guarded, _floats((60,), (60,)), lambda a: np.where(a > 0, a, a * np.float32(0.1)))


def _padded(a: Any) -> Any:
    return np.pad(a, 1)


@T.prim_func
def padded(A: T.Buffer((30,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(32, tx)
            B[i] = T.if_then_else(1 <= i and i < 31, A[i - 1], T.float32(0))


_keep(padded, _floats((30,), (32,)), _padded)


@T.prim_func
def integers(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(64, tx)
            B[i] = A[i] // 7 + A[i] % 5 + T.max(A[i] >> 2, A[i] & 3) + (A[i] << 1)


_keep(
    integers,
    lambda rng: [rng.integers(-50, 50, 64).astype("int32"), np.zeros(64, "int32")],
    lambda a: a // 7 + a % 5 + np.maximum(a >> 2, a & 3) + (a << 1),
)


@T.prim_func
def bits(A: T.Buffer((64,), "uint32"), B: T.Buffer((64,), "int32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(64, tx)
            B[i] = T.Cast("int32", T.popcount(A[i])) + T.Cast("int32", T.clz(A[i]))


_keep(
    bits,
    lambda rng: [rng.integers(0, 2**31, 64).astype("uint32"), np.zeros(64, "int32")],
    lambda a: np.array([bin(x).count("1") + 32 - int(x).bit_length() for x in a.tolist()], "int32"),
)


@T.prim_func
def bits_of_floats(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(64, tx)
            B[i] = T.bitwise_xor(T.reinterpret("int32", A[i]), 1)


_keep(
    bits_of_floats,
    lambda rng: [rng.standard_normal(64).astype("float32"), np.zeros(64, "int32")],
    lambda a: a.view("int32") ^ 1,
)


@T.prim_func
def booleans(A: T.Buffer((64,), "bool"), B: T.Buffer((64,), "bool"), C: T.Buffer((64,), "bool")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("C"):
            i = T.axis.spatial(64, tx)
            C[i] = (A[i] and B[i]) or not A[i]


_keep(
    booleans,
    lambda rng: [rng.integers(0, 2, 64).astype(bool), rng.integers(0, 2, 64).astype(bool),
                 np.zeros(64, bool)],
    lambda a, b: (a & b) | ~a, not_in=("webgpu",),
)  # fmt: skip


@T.prim_func
def halves(
    A: T.Buffer((128,), "float16"), B: T.Buffer((128,), "float16"), C: T.Buffer((128,), "float16")
):
    T.func_attr({"tir.noalias": True})
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for v in T.vectorized(4):
            with T.block("C"):
                i = T.axis.spatial(128, tx * 4 + v)
                C[i] = T.max(A[i] * B[i], A[i]) + B[i]


_keep(
    halves,
    _floats((128,), (128,), (128,), dtype="float16"),
    lambda a, b: np.maximum(a * b, a) + b,
    tolerance=2e-3,
)


@T.prim_func
def half_to_single(A: T.Buffer((64,), "float16"), B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        for v in T.vectorized(2):
            with T.block("B"):
                i = T.axis.spatial(64, tx * 2 + v)
                B[i] = T.exp(T.Cast("float32", A[i])) * T.float32(2)


_keep(
    half_to_single,
    lambda rng: [rng.standard_normal(64).astype("float16"), np.zeros(64, "float32")],
    lambda a: np.exp(a.astype("float32")) * 2,
    tolerance=2e-3,
)


# --- reductions ---


@T.prim_func
def sum_of_rows(A: T.Buffer((8, 128), "float32"), B: T.Buffer((8,), "float32")):
    T.func_attr({"tir.noalias": True})
    for bx in T.thread_binding(8, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            with T.block("B"):
                i, k = T.axis.remap("SR", [bx, tx])
                with T.init():
                    B[i] = T.float32(0)
                B[i] = B[i] + A[i, k]


_keep(sum_of_rows, _floats((8, 128), (8,)), lambda a: a.sum(1), tolerance=1e-4)


@T.prim_func
def max_of_rows(A: T.Buffer((4, 96), "float32"), B: T.Buffer((4,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for ko in range(3):
                with T.block("B"):
                    i, k = T.axis.spatial(4, bx), T.axis.reduce(96, ko * 32 + tx)
                    with T.init():
                        B[i] = T.min_value("float32")
                    B[i] = T.max(B[i], A[i, k])


_keep(max_of_rows, _floats((4, 96), (4,)), lambda a: a.max(1))


def _softmax(a: Any) -> Any:
    powers = np.exp(a - a.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


@T.prim_func
def softmax(A: T.Buffer((4, 64), "float32"), B: T.Buffer((4, 64), "float32")):
    T.func_attr({"tir.noalias": True})
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        with T.block("row"):
            i = T.axis.spatial(4, bx)
            most = T.alloc_buffer((4,), scope="shared")
            total = T.alloc_buffer((4,), scope="shared")
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("max"):
                    k = T.axis.reduce(64, tx)
                    with T.init():
                        most[i] = T.min_value("float32")
                    most[i] = T.max(most[i], A[i, k])
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("sum"):
                    k = T.axis.reduce(64, tx)
                    with T.init():
                        total[i] = T.float32(0)
                    total[i] = total[i] + T.exp(A[i, k] - most[i])
            for tx in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("divide"):
                    k = T.axis.spatial(64, tx)
                    B[i, k] = T.exp(A[i, k] - most[i]) / total[i]


_keep(softmax, _floats((4, 64), (4, 64)), _softmax)


# --- shared memory ---


@T.prim_func
def transpose(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
    T.func_attr({"tir.noalias": True})
    for by in T.thread_binding(2, thread="blockIdx.y"):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            with T.block("tile"):
                y, x = T.axis.remap("SS", [by, bx])
                tile = T.alloc_buffer((16, 16), scope="shared")
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        with T.block("read"):
                            i, j = T.axis.remap("SS", [ty, tx])
                            tile[i, j] = A[y * 16 + i, x * 16 + j]
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        with T.block("write"):
                            i, j = T.axis.remap("SS", [ty, tx])
                            B[x * 16 + i, y * 16 + j] = tile[j, i]


_keep(transpose, _floats((32, 32), (32, 32)), lambda a: a.T)


@T.prim_func
def matmul(
    A: T.Buffer((64, 64), "float32"),
    B: T.Buffer((64, 64), "float32"),
    C: T.Buffer((64, 64), "float32"),
):
    T.func_attr({"tir.noalias": True})
    for i, j, k in T.grid(64, 64, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def tiled(func: tir.PrimFunc, storage: str = "shared", vector: int = 4) -> tir.PrimFunc:
    """Tiles of 32x32 a block, 4x4 a thread; operands through shared memory."""
    sch = tir.Schedule(func)
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    by, ty, yi = sch.split(i, [None, 8, 4])
    bx, tx, xi = sch.split(j, [None, 8, 4])
    ko, ki = sch.split(k, [None, 8])
    sch.reorder(by, bx, ty, tx, ko, ki, yi, xi)
    tags = ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    for loop, tag in zip((by, bx, ty, tx), tags):
        sch.bind(loop, tag)
    local = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(local, tx)
    for number in (0, 1):
        copy = sch.cache_read(block, number, storage)
        sch.compute_at(copy, ko)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, rows, columns, lanes = sch.split(fused, [None, 8, 8, vector])
        sch.bind(rows, "threadIdx.y")
        sch.bind(columns, "threadIdx.x")
        sch.vectorize(lanes)
    sch.decompose_reduction(block, ko)
    sch.unroll(xi)
    made = sch.mod["main"]
    assert isinstance(made, tir.PrimFunc)
    return made


_SQUARES = _floats((64, 64), (64, 64), (64, 64))
_keep(tiled(matmul), _SQUARES, np.matmul, tolerance=1e-4, name="matmul_tiled")
_keep(tiled(matmul, "shared.dyn"), _SQUARES, np.matmul, tolerance=1e-4,
      name="matmul_dynamic_shared", not_in=("webgpu",))  # fmt: skip
_keep(tiled(matmul, vector=1), _SQUARES, np.matmul, tolerance=1e-4, name="matmul_scalar_copies")


# --- shuffles, atomics, dot products ---


@T.prim_func
def warp_memory(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(16, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(64, bx * 16 + tx)
                T.reads(A[i])
                T.writes(B[i])
                B[i] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[i], 15 - i % 16, 16, 16)


_keep(
    warp_memory,_floats((64,), (64,)), lambda a: a.reshape(4, 16)[:, ::-1].reshape(-1),
         not_in=("webgpu",))  # fmt: skip


@T.prim_func
def histogram(A: T.Buffer((128,), "int32"), B: T.Buffer((8,), "int32")):
    for bx in T.thread_binding(4, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(128, bx * 32 + tx)
                T.reads(A[i])
                T.writes(B[0:8])
                T.evaluate(T.call_intrin("int32", "tir.atomic_add", T.address_of(B[A[i]]), 1))


_keep(
    histogram,
    lambda rng: [rng.integers(0, 8, 128).astype("int32"), np.zeros(8, "int32")],
    lambda a: np.bincount(a, minlength=8).astype("int32"),
)


@T.prim_func
def dot_of_bytes(
    A: T.Buffer((128,), "int8"), B: T.Buffer((128,), "int8"), C: T.Buffer((32,), "int32")
):
    T.func_attr({"tir.noalias": True})
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("C"):
            i = T.axis.spatial(32, tx)
            T.reads(A[i * 4 : i * 4 + 4], B[i * 4 : i * 4 + 4])
            T.writes(C[i])
            C[i] = T.call_intrin(
                "int32", "tir.dp4a", A[T.Ramp(i * 4, 1, 4)], B[T.Ramp(i * 4, 1, 4)], 0
            )


_keep(
    dot_of_bytes,
    lambda rng: [rng.integers(-128, 128, 128).astype("int8"),
                 rng.integers(-128, 128, 128).astype("int8"), np.zeros(32, "int32")],
    lambda a, b: (a.astype("int32") * b).reshape(32, 4).sum(1), not_in=("webgpu",),
)  # fmt: skip


# --- sizes known at launch, and several kernels ---


def _symbolic(rng: np.random.Generator) -> Arrays:
    return [rng.standard_normal(100).astype("float32"), np.zeros(100, "float32")]


@T.prim_func
def symbolic(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for bx in T.thread_binding((n + 31) // 32, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(n, bx * 32 + tx)
                T.where(bx * 32 + tx < n)
                B[i] = A[i] * T.float32(3)


_keep(symbolic, _symbolic, lambda a: a * 3)


@T.prim_func
def scaled(A: T.Buffer((64,), "float32"), x: T.float32, B: T.Buffer((64,), "float32")):
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(64, tx)
            B[i] = A[i] * x


_keep(
    scaled,lambda rng: [rng.standard_normal(64).astype("float32"), np.float32(0.5),
                      np.zeros(64, "float32")], lambda a, x: a * x)  # fmt: skip


@T.prim_func
def two_kernels(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,), "float32")
    for tx in T.thread_binding(64, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(64, tx)
            B[i] = A[i] + T.float32(1)
    for bx in T.thread_binding(2, thread="blockIdx.x"):
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("C"):
                i = T.axis.spatial(64, bx * 32 + tx)
                C[i] = B[i] * B[i]


_keep(two_kernels, _floats((64,), (64,)), lambda a: (a + 1) * (a + 1))


@T.prim_func
def early_return(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(32, tx)
            T.reads(A[i])
            T.writes(B[i])
            if i >= 20:
                T.thread_return()
            B[i] = A[i]


_keep(early_return, _floats((32,), (32,)), lambda a: np.where(np.arange(32) < 20, a, 0))


@T.prim_func
def loops(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("B"):
            i = T.axis.spatial(16, tx)
            T.reads(A[i])
            T.writes(B[i])
            n = T.alloc_buffer((1,), "int32", scope="local")
            B[i] = A[i]
            n[0] = i
            while n[0] < 10:
                B[i] = B[i] + T.float32(1)
                n[0] = n[0] + 1


_keep(loops, _floats((16,), (16,)), lambda a: np.array([max(0, 10 - n) for n in range(16)]) + a)


def module_for(kind: str) -> IRModule:
    """All programs that a language can say, as one module."""
    return IRModule({name: p.func for name, p in PROGRAMS.items() if kind not in p.not_in})
