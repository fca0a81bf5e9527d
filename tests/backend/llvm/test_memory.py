"""Loads and stores: contiguous, strided, gathered, masked, and of every element type."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from tests.backend.llvm.kernel import call, compiled, i32, kernel, run, vector
from tvm.backend.llvm.memory import as_ramp
from tvm.error import InternalError, TVMError
from tvm.ir.expr import PrimExpr
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer

pytestmark = pytest.mark.cpu


def copy(load_at: PrimExpr, store_at: e.PrimExpr) -> s.Stmt:
    def body(a: Buffer, b: Buffer) -> s.Stmt:
        return s.BufferStore(b, e.BufferLoad(a, [load_at]), [store_at])

    return body


@pytest.mark.parametrize("stride", [-4, -3, -1, 0, 1, 2, 3, 4, 7, -9])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
def test_strided_loads(stride: int, dtype: str) -> None:
    a = (np.arange(128) % 5 > 1) if dtype == "bool" else np.arange(128).astype(dtype)
    out = np.zeros(8, a.dtype)
    start = 70
    assert run(copy(vector(start, 8, stride), vector(0, 8)), a, out) == 0
    expected = [a[start + i * stride] for i in range(8)]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("stride", [-2, 3, 16])
def test_strided_stores(stride: int) -> None:
    a, out = np.arange(8, dtype="float32"), np.zeros(256, "float32")
    assert run(copy(vector(0, 8), vector(100, 8, stride)), a, out) == 0
    expected = np.zeros(256, "float32")
    expected[100 + np.arange(8) * stride] = a
    np.testing.assert_array_equal(out, expected)


def test_a_strided_load_reads_nothing_behind_its_last_element() -> None:
    import mmap

    page = mmap.PAGESIZE
    with mmap.mmap(-1, 2 * page) as memory:
        data = np.frombuffer(memory, np.float32)
        a = data[page // 4 - 15 : page // 4]  # ends where a page ends
        a[:] = np.arange(15)
        out = np.zeros(8, "float32")
        assert run(copy(vector(0, 8, 2), vector(0, 8)), a, out) == 0
        np.testing.assert_array_equal(out, np.arange(0, 15, 2))
        del a, data


@pytest.mark.parametrize("told", [False, True])  # by numbers, or by a comparison of places
@pytest.mark.parametrize("stride", [2, 3, 4])
def test_a_masked_strided_load_reads_nothing_behind_its_last_element(
    stride: int, told: bool
) -> None:
    import mmap

    page, count = mmap.PAGESIZE, 4 * stride + 1
    with mmap.mmap(-1, 2 * page) as memory:
        data = np.frombuffer(memory, np.float32)
        a = data[page // 4 - count : page // 4]  # ends where a page ends
        a[:] = np.arange(count)
        mask, out = np.arange(8) < 5, np.full(8, 7.0, "float32")

        def body(source: Buffer, keep: Buffer, target: Buffer) -> s.Stmt:
            lanes: PrimExpr = e.BufferLoad(keep, [vector(0, 8)])
            if told:
                lanes = e.LT(vector(0, 8, stride), e.Broadcast(4 * stride + 1, 8))
            loaded = e.BufferLoad(source, [vector(0, 8, stride)], lanes)
            return s.BufferStore(target, loaded, [vector(0, 8)])

        assert run(body, a, mask, out) == 0
        np.testing.assert_array_equal(out[:5], np.arange(5) * stride)
        np.testing.assert_array_equal(out[5:], 0)
        del a, data


@pytest.mark.parametrize("divisor", [2, 3, 4, 8])  # 8: all lanes have one element
@pytest.mark.parametrize("kept", [None, 1, 5, 8])
def test_repeated_lanes(divisor: int, kept: int | None) -> None:
    """Each element serves several lanes; nothing behind the last one is read."""
    import mmap

    page, count = mmap.PAGESIZE, ((kept or 8) - 1) // divisor + 1
    with mmap.mmap(-1, 2 * page) as memory:
        data = np.frombuffer(memory, np.float32)
        a = data[page // 4 - count : page // 4]  # ends where a page ends
        a[:] = np.arange(1, count + 1)
        out = np.full(8, 7.0, "float32")

        def body(source: Buffer, target: Buffer) -> s.Stmt:
            index = e.FloorDiv(e.Ramp(0, 1, 8), e.Broadcast(i32(divisor), 8))
            mask = None if kept is None else e.LT(e.Ramp(0, 1, 8), e.Broadcast(i32(kept), 8))
            loaded = e.BufferLoad(source, [index], mask)
            return s.BufferStore(target, loaded, [vector(0, 8)])

        assert run(body, a, out) == 0
        expected = a[np.arange(kept or 8) // divisor]
        np.testing.assert_array_equal(out[: kept or 8], expected)
        np.testing.assert_array_equal(out[kept or 8 :], 0)
        del a, data


def test_gather_and_scatter_by_computed_indices() -> None:
    a, out = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    places = np.array([5, 60, 3, 3, 17, 0, 63, 8], np.int32)

    def body(source: Buffer, where: Buffer, target: Buffer) -> s.Stmt:
        index = e.BufferLoad(where, [vector(0, 8)])
        doubled = e.Mul(index, e.Broadcast(i32(1), 8))
        return s.SeqStmt([
            s.BufferStore(target, e.BufferLoad(source, [doubled]), [vector(0, 8)]),
            s.BufferStore(target, e.Broadcast(e.FloatImm("float32", -1.0), 8),
                          [e.Add(index, e.Broadcast(i32(0), 8))]),
        ])  # fmt: skip

    assert run(body, a, places, out) == 0
    expected = np.zeros(64, "float32")
    expected[:8] = a[places]
    expected[places] = -1
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
def test_masked_accesses_leave_other_lanes_alone(stride: int) -> None:
    a, out = np.arange(1, 65, dtype="float32"), np.full(64, 9.0, "float32")
    mask = np.array([1, 0, 1, 1, 0, 0, 1, 0], np.bool_)

    def body(source: Buffer, keep: Buffer, target: Buffer) -> s.Stmt:
        lanes = e.BufferLoad(keep, [vector(0, 8)])
        loaded = e.BufferLoad(source, [vector(0, 8, stride)], lanes)
        both = s.BufferStore(target, loaded, [vector(0, 8, stride)])
        masked = s.BufferStore(target, loaded, [vector(16, 8, stride)], lanes)
        return s.SeqStmt([both, masked])

    assert run(body, a, mask, out) == 0
    expected = np.full(64, 9.0, "float32")
    expected[np.arange(8) * stride] = np.where(mask, a[np.arange(8) * stride], 0)
    for lane in np.flatnonzero(mask):
        expected[16 + lane * stride] = a[lane * stride]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "float64", "bfloat16"])
def test_every_element_type(dtype: str) -> None:
    kind = np.dtype(ml_dtypes.bfloat16) if dtype == "bfloat16" else np.dtype(dtype)
    a = (np.arange(16) % 3).astype(kind)
    out = np.zeros(16, kind)
    assert run(copy(vector(0, 8), vector(8, 8)), a, out) == 0
    np.testing.assert_array_equal(out[8:], a[:8])


def test_elements_that_are_vectors() -> None:
    a, out = np.arange(32, dtype="float32"), np.zeros(32, "float32")
    source = decl_buffer((8,), "float32x4", "source")
    target = decl_buffer((8,), "float32x4", "target")
    one = s.BufferStore(target, e.BufferLoad(source, [i32(2)]), [i32(5)])
    two = s.BufferStore(target, e.BufferLoad(source, [vector(0, 2)]), [vector(0, 2)])
    assert call(compiled(kernel([source, target], s.SeqStmt([one, two]))), a, out) == 0
    np.testing.assert_array_equal(out[20:24], a[8:12])
    np.testing.assert_array_equal(out[:8], a[:8])


def test_ramps_are_seen_through_sums_and_products() -> None:
    x = e.Var("x", "int32")
    lanes = e.Add(e.Mul(e.Ramp(x, i32(1), 4), e.Broadcast(i32(3), 4)), e.Broadcast(x, 4))
    found = as_ramp(lanes)
    assert found is not None
    assert found[1] == 3
    assert as_ramp(e.Mul(e.Ramp(x, i32(1), 4), e.Ramp(x, i32(1), 4))) is None


def test_rejects_buffers_that_are_not_flat() -> None:
    b = decl_buffer((2, 2), "float32", "b")
    store = s.BufferStore(b, e.FloatImm("float32", 1.0), [i32(0), i32(1)])
    with pytest.raises(InternalError) as caught:
        compiled(kernel([b], store))
    assert str(caught.value) == (
        "access of buffer b\n  found: 2 indices\n  where: function kernel\n"
        "  legal: one index; tir.FlattenBuffer brings buffers to this form"
    )


@pytest.mark.parametrize("masked", [False, True])
def test_volatile_accesses(masked: bool) -> None:
    b = decl_buffer((8,), "float32", "b")
    at = vector(0, 4)
    mask = e.Broadcast(e.IntImm("bool", 1), 4) if masked else None
    store = s.BufferStore(b, e.BufferLoad(b, [at], mask), [vector(4, 4)])
    body = s.AttrStmt(b.data, "volatile_scope", i32(1), store)
    if masked:
        with pytest.raises(TVMError, match="does not support declaring load as volatile"):
            compiled(kernel([b], body))
        store = s.BufferStore(b, e.Broadcast(e.FloatImm("float32", 1.0), 4), [at], mask)
        with pytest.raises(TVMError, match="does not support declaring store as volatile"):
            compiled(kernel([b], s.AttrStmt(b.data, "volatile_scope", i32(1), store)))
        return
    text = compiled(kernel([b], body)).inspect_source()
    assert "load volatile <4 x float>" in text
    assert "store volatile <4 x float>" in text


@pytest.mark.parametrize("dtype", ["int24", "uint13", "uint48", "int4"])
def test_elements_of_odd_widths(dtype: str) -> None:
    """Written one by one and read as vectors, backwards and by index: they lie alike."""
    held = decl_buffer((16,), dtype, "held")
    bits = 64 - held.dtype.bits

    def body(source: Buffer, target: Buffer) -> s.Stmt:
        i, j = e.Var("i", "int32"), e.Var("j", "int32")
        write = s.BufferStore(held, e.Cast(dtype, e.BufferLoad(source, [i])), [i])
        read = e.Cast("int64x4", e.BufferLoad(held, [e.Ramp(15 - j * 4, i32(-1), i32(4))]))
        back = s.BufferStore(target, read, [e.Ramp(j * 4, i32(1), i32(4))])
        loops = [s.For(i, 0, 16, s.ForKind.SERIAL, write), s.For(j, 0, 4, s.ForKind.SERIAL, back)]
        return s.Allocate(held.data, dtype, [16], e.IntImm("bool", 1), s.SeqStmt(loops))

    given, out = np.arange(-8, 8) * 12345678, np.zeros(16, "int64")
    assert run(body, given, out) == 0
    shifted = (given << bits).view("uint64" if dtype.startswith("u") else "int64") >> bits
    np.testing.assert_array_equal(out, shifted[::-1].astype("int64"))


@pytest.mark.parametrize("cpu", ["x86-64-v2", "haswell", "znver3", "skylake-avx512", "znver4"])
def test_masked_lanes_come_in_powers_of_two(cpu: str) -> None:
    """LLVM splits 24 lanes into parts of which it does not know the size."""

    a, b = (decl_buffer((40,), "float32", name) for name in "ab")
    mask = e.LT(vector(0, 24), e.Broadcast(i32(14), 24))
    loaded = e.BufferLoad(a, [vector(5, 24)], mask)
    store = s.BufferStore(b, loaded, [vector(0, 24)], mask)
    text = compiled(kernel([a, b], store), target=f"llvm -mcpu={cpu}").inspect_source()
    assert f"masked.load.v{8 if cpu in ('haswell', 'znver3') else 16}f32" in text
    assert "masked.store.v8f32" in text
    assert "masked.load.v24f32" not in text


@pytest.mark.parametrize("cpu", ["x86-64-v2", "sandybridge", "haswell", "znver3", "znver4"])
@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 16), ("int32", 32), ("float64", 8)])
def test_registers_of_a_masked_load_may_have_no_lane(cpu: str, dtype: str, lanes: int) -> None:
    """Of several registers LLVM knows some to be empty, and forgets how large the others are."""
    a, b = (decl_buffer((64,), dtype, name) for name in "ab")
    n = decl_buffer((1,), "int32", "n")
    some = e.LT(e.BufferLoad(n, [i32(0)]), i32(3))
    for count in (2, lanes // 4 + 1, lanes // 2, lanes // 2 + 1, lanes - 1):
        mask = e.And(
            e.Broadcast(some, lanes), e.LT(vector(0, lanes), e.Broadcast(i32(count), lanes))
        )
        loaded = e.BufferLoad(a, [vector(5, lanes)], mask)
        body = s.BufferStore(b, loaded, [vector(0, lanes)])
        assert compiled(kernel([a, b, n], body), target=f"llvm -mcpu={cpu}").get_source("asm")


@pytest.mark.parametrize("lanes", [3, 7, 24, 25])
@pytest.mark.parametrize("dtype", ["float32", "bool", "float16"])
def test_masked_lanes_of_any_count(lanes: int, dtype: str) -> None:
    def body(a: Buffer, b: Buffer) -> s.Stmt:
        mask = e.LT(vector(0, lanes), e.Broadcast(i32(lanes - 2), lanes))
        loaded = e.BufferLoad(a, [vector(5, lanes)], mask)
        return s.BufferStore(b, loaded, [vector(1, lanes)], mask)

    a = (np.arange(40) % 3 > 0) if dtype == "bool" else np.arange(40).astype(dtype)
    out = np.ones(40, a.dtype)
    assert run(body, a, out) == 0
    expected = np.ones(40, a.dtype)
    expected[1 : lanes - 1] = a[5 : lanes + 3]
    np.testing.assert_array_equal(out, expected)
