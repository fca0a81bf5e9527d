"""The virtual machine's own functions."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.error import DTypeError, ShapeError
from tvm.ffi import get_global_func
from tvm.runtime import tensor
from tvm.runtime import vm_builtin as b
from tvm.runtime.vm_builtin import MakeShapeCode, MatchShapeCode

pytestmark = pytest.mark.pure


class Machine:
    def device_at(self, index: int) -> object:
        return tvm.cpu()


def test_shapes_are_matched_and_made() -> None:
    heap = b.alloc_shape_heap(None, 2)
    store, imm = MatchShapeCode.STORE_TO_HEAP, MatchShapeCode.ASSERT_EQUAL_TO_IMM
    b.match_shape(tensor(np.zeros((3, 4))), heap, 2, store, 1, imm, 4, "")
    assert heap[1] == 3
    made = b.make_shape(heap, 3, MakeShapeCode.LOAD_SHAPE, 1, MakeShapeCode.USE_IMM, 7, 1, 1)
    assert made == (3, 7, 3)
    b.match_shape((3,), heap, 1, MatchShapeCode.ASSERT_EQUAL_TO_LOAD, 1, "")
    b.match_shape((99,), heap, 1, MatchShapeCode.NO_OP, 0, "")
    b.match_prim_value(8, heap, store, 0, "")
    assert b.make_prim_value(heap, MakeShapeCode.LOAD_SHAPE, 0) == 8


def test_shapes_that_do_not_match_are_refused() -> None:
    heap = b.alloc_shape_heap(None, 1)
    with pytest.raises(ShapeError) as caught:
        b.match_shape((3, 4), heap, 2, 0, 3, 0, 5, "main: parameter x")
    assert str(caught.value) == (
        "check failed: main: parameter x expects extent 5 in dimension 1\n"
        "  found: shape (3, 4): extent 1 is 4\n  legal: (3, 5)"
    )
    with pytest.raises(ShapeError, match="legal: 1 dimensions"):
        b.match_shape((3, 4), heap, 1, 0, 3, "")


def test_arguments_are_checked() -> None:
    x = tensor(np.zeros((2, 3), "float32"))
    b.check_tensor_info(x, 2, "float32", "")
    b.check_tensor_info(x, -1, "")
    with pytest.raises(TypeError, match="found: int\n  legal: a tensor"):
        b.check_tensor_info(3, 2, "float32", "x")
    with pytest.raises(ValueError, match=r".* x .* ndim 1"):
        b.check_tensor_info(x, 1, "float32", "x")
    with pytest.raises(ValueError, match=r"x.* dtype int8"):
        b.check_tensor_info(x, 2, "int8", "x")
    with pytest.raises(DTypeError, match="found: dtype float32\n  legal: dtype int8"):
        b.check_tensor_info(x, 2, "int8", "x")
    b.check_shape_info((1, 2), 2, "")
    with pytest.raises(ShapeError):
        b.check_shape_info((1, 2), 3, "")
    with pytest.raises(TypeError):
        b.check_shape_info(3, 1, "")
    b.check_prim_value_info(3, "int64", "")
    with pytest.raises(TypeError):
        b.check_prim_value_info(3.5, "int64", "")
    b.check_tuple_info((1, 2), 2, "")
    with pytest.raises(ValueError, match="a Tuple with 2 elements"):
        b.check_tuple_info((1,), 2, "")
    with pytest.raises(TypeError, match="a Tuple"):
        b.check_tuple_info(x, 2, "")
    with pytest.raises(TypeError):  # a shape is no tuple
        b.check_tuple_info(b.VMShape((8, 8)), 2, "")
    b.check_func_info(abs, "")
    with pytest.raises(TypeError, match="legal: a function"):
        b.check_func_info(3, "")


def test_memory() -> None:
    storage = b.alloc_storage(Machine(), (64,), 0, "uint8")
    assert b.alloc_storage(Machine(), (4, 6), 0, "float32").numel() == 96
    made = b.alloc_tensor(storage, 16, (2, 3), "float32")
    assert (tuple(made.shape), made.data_ptr()) == ((2, 3), storage.data_ptr() + 16)
    with pytest.raises(ShapeError):
        b.alloc_tensor(storage, 48, (2, 3), "float32")
    flat = b.reshape(made, (6,))
    assert flat.data_ptr() == made.data_ptr()
    with pytest.raises(ShapeError, match="equal element counts"):
        b.reshape(made, (5,))
    assert b.to_device(made, 1, 0) is made
    assert b.copy(made) is b.ensure_zero_offset(made) is made


def test_tuples_and_conditions() -> None:
    assert b.tuple_getitem(b.make_tuple(1, 2), 1) == 2
    assert b.null_value() is None
    assert b.read_if_cond(tensor(np.array(True))) is True
    assert b.read_if_cond(0) is False
    assert b.shape_of(tensor(np.zeros((2, 3)))) == (2, 3)
    assert b.tensor_to_shape(tensor(np.array([4, 5]))) == (4, 5)
    assert b.call_tir_dyn(lambda *a: a, 1, 2, (3, 4)) == (1, 2, 3, 4)


def test_what_is_no_shape_or_condition_is_refused() -> None:
    with pytest.raises(ShapeError, match="one dimension"):
        b.tensor_to_shape(tensor(np.array([[4, 5]])))
    with pytest.raises(DTypeError, match="float32"):
        b.tensor_to_shape(tensor(np.array([1.5], "float32")))
    with pytest.raises(DTypeError, match="float32"):
        b.read_if_cond(tensor(np.array(1.5, "float32")))
    with pytest.raises(TypeError, match="str"):
        b.read_if_cond("yes")
    b.check_prim_value_info(1, "bool")  # integers are truth values


def test_closures_hold_values() -> None:
    class Runs:
        def run(self, name: str, args: tuple[int, ...]) -> tuple[str, tuple[int, ...]]:
            return name, args

    closure = b.make_closure(Runs(), "f", 1)
    assert closure(2) == ("f", (2, 1))  # captured values are the last parameters
    assert b.invoke_closure(None, b.make_closure(Runs(), closure, 5), 6) == ("f", (6, 5, 1))


def test_they_are_in_the_global_registry() -> None:
    assert get_global_func("vm.builtin.read_if_cond")(1) is True


def test_from_outside_shapes_are_shapes_and_heaps_tensors() -> None:
    heap = tensor(np.arange(10))
    made = get_global_func("vm.builtin.make_shape")(heap, 3, 0, 10, 1, 0, 1, 2)
    assert isinstance(made, tvm.runtime.ShapeTuple)
    assert made == tvm.runtime.ShapeTuple([10, 0, 2])
    match = get_global_func("vm.builtin.match_shape")
    match(tvm.runtime.ShapeTuple([7, 2]), heap, 2, MatchShapeCode.STORE_TO_HEAP, 5, 0, 2, "")
    assert heap.numpy()[5] == 7
    with pytest.raises(RuntimeError):
        match(tvm.runtime.ShapeTuple([7, 2]), heap, 2, 0, 8, 0, 2, "")
    with pytest.raises(TypeError):
        get_global_func("vm.builtin.check_shape_info")([], 2, "")


def test_views_have_other_shapes_and_types() -> None:
    x = tensor(np.arange(4, dtype="int32"))
    view = b.create_view(x, (2, 2), "uint16", 8)
    assert (tuple(view.shape), str(view.dtype)) == ((2, 2), "uint16")
    assert view.numpy().tolist() == [[2, 0], [3, 0]]


def test_python_functions_are_called_by_name() -> None:
    b.register_py_func("testing.twice", lambda x: x * 2)
    assert b.call_py_func("testing.twice", 4) == b.call_py_func("testing.twice", (4,)) == 8
    assert b.get_py_func("testing.twice")(3) == 6
    b.clear_py_func_registry()
    with pytest.raises(ValueError, match=r"testing\.twice.*\n.*no function of this name"):
        b.get_py_func("testing.twice")


def test_tensors_that_no_memory_holds() -> None:
    storage = b.alloc_storage(Machine(), (-64,), 0, "uint8")  # a size that has wrapped around
    with pytest.raises(MemoryError, match=r"4294967296 x 4294967296 float32\n.*for 73,786,976,"):
        b.alloc_tensor(storage, 0, (1 << 32, 1 << 32), "float32")
    with pytest.raises(ShapeError, match="extents from 0 on"):
        b.alloc_tensor(storage, 0, (-1, -1), "float32")


def test_items_count_from_the_first() -> None:
    item = tvm.get_global_func("vm.builtin.tuple_getitem")
    assert item((3, 4), 1) == 4
    for index in (-1, 2):
        with pytest.raises(IndexError):
            item((3, 4), index)
