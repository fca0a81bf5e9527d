from __future__ import annotations

import numpy as np
import pytest

from tvm.support.dtype import DataType
from tvm.tir.interp.errors import InterpreterError
from tvm.tir.interp.memory import Pointer, allocate, buffer_view, pick, put, run_of_memory

pytestmark = pytest.mark.pure
F32 = DataType("float32")


def test_views_share_memory() -> None:
    memory = Pointer(np.arange(24, dtype="float32"))
    rows = buffer_view("A", F32, memory, [2, 3], [], 6)
    np.testing.assert_array_equal(rows, [[6, 7, 8], [9, 10, 11]])
    columns = buffer_view("A", F32, memory, [3, 2], [1, 3], 6)
    columns[0, 1] = -1
    assert memory.data[9] == -1
    np.testing.assert_array_equal(buffer_view("A", F32, memory, [2], [-1], 3), [3, 2])
    vectors = buffer_view("A", F32.with_lanes(4), memory, [3], [], 1)
    np.testing.assert_array_equal(vectors[0], [4, 5, 6, 7])


def test_buffer_beyond_its_memory() -> None:
    with pytest.raises(InterpreterError, match=r"covers elements 0 to 5 of memory that has 4"):
        buffer_view("A", F32, allocate(F32, 4), [2, 3], [], 0)
    with pytest.raises(InterpreterError, match=r"-1 elements"):
        allocate(F32, -1)


def test_fresh_memory_is_marked() -> None:
    assert np.isnan(allocate(F32, 4).data).all()
    assert (allocate(DataType("int32"), 4).data == 0x5A5A5A5A).all()


def test_addresses_move_and_change_type() -> None:
    memory = Pointer(np.arange(4, dtype="int32"))
    assert memory.moved(2).offset == 2
    assert memory.moved_bytes(8).offset == 2
    assert memory.moved_bytes(2).typed(np.dtype("int16")).offset == 1
    with pytest.raises(InterpreterError, match=r"not aligned"):
        memory.moved_bytes(2).typed(np.dtype("int32"))


def test_memory_of_strided_arrays() -> None:
    array = np.arange(12, dtype="float32").reshape(3, 4)[:, ::2]
    assert run_of_memory(array).data.size == 11
    with pytest.raises(InterpreterError, match=r"forward"):
        run_of_memory(array[::-1])


@pytest.mark.parametrize(
    "indices",
    [
        (np.arange(3).reshape(3, 1), np.arange(1, 4).reshape(1, 3)),
        (np.arange(3).reshape(1, 3), np.arange(0, 4, 2).reshape(2, 1)),
        (np.int32(1), np.arange(4)),
        (np.array([[2]]), np.arange(3).reshape(1, 3)),
        (np.array([2, 0, 1]), np.array([1, 1, 3])),
        (np.arange(2, -1, -1).reshape(3, 1), np.arange(4).reshape(1, 4)),
    ],
)
def test_grids_of_indices(indices: tuple[np.ndarray, ...]) -> None:
    array = np.arange(12, dtype="float32").reshape(3, 4)
    got = pick(array, indices)
    np.testing.assert_array_equal(got, array[indices])
    changed = array.copy()
    put(changed, indices, got + 100)
    wanted = array.copy()
    wanted[indices] += 100
    np.testing.assert_array_equal(changed, wanted)
