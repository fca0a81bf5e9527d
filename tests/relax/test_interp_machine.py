"""Numpy's meaning of storage, the heap of sizes, checks."""

import numpy as np
import pytest

from tvm.error import DTypeError, ShapeError, TVMError
from tvm.relax.interp_machine import MACHINE_FUNCTIONS as F
from tvm.relax.interp_machine import MACHINE_OPERATORS as OP
from tvm.relax.interp_machine import made_shape
from tvm.support.dtype import DataType

pytestmark = pytest.mark.pure
F32 = DataType("float32")


def test_tensors_lie_in_storage():
    storage = OP["relax.memory.alloc_storage"]((64,), 0, "global", DataType("uint8"))
    a = OP["relax.memory.alloc_tensor"](storage, 0, (2, 4), F32)
    b = OP["relax.vm.alloc_tensor"](storage, 16, (4,), F32)
    b[:] = 3
    assert a.tolist() == [[0] * 4, [3] * 4]
    assert OP["relax.memory.kill_tensor"](a) == ()
    with pytest.raises(ShapeError, match="storage of 64 bytes"):
        OP["relax.memory.alloc_tensor"](storage, 40, (2, 4), F32)


def test_the_heap_keeps_sizes():
    heap = F["vm.builtin.alloc_shape_heap"](2)
    F["vm.builtin.match_shape"](np.zeros((3, 4)), heap, 2, 1, 1, 0, 4, "")
    assert made_shape(heap, 3, 1, 1, 0, 7, 1, 0) == [3, 7, 0]
    F["vm.builtin.match_prim_value"](5, heap, 1, 0, "")
    assert F["vm.builtin.make_prim_value"](heap, 1, 0) == 5
    with pytest.raises(ShapeError):
        F["vm.builtin.match_shape"]((4,), heap, 1, 3, 1, "")
    with pytest.raises(ShapeError, match="2 dimensions"):
        F["vm.builtin.match_shape"]((4,), heap, 2, 3, 1, 0, 0, "")


def test_checks():
    x = np.zeros((2,), "float32")
    F["vm.builtin.check_tensor_info"](x, 1, F32, "")
    with pytest.raises(ShapeError):
        F["vm.builtin.check_tensor_info"](x, 2, F32, "")
    with pytest.raises(DTypeError):
        F["vm.builtin.check_tensor_info"](x, 1, DataType("int8"), "")
    with pytest.raises(ShapeError):
        F["vm.builtin.check_tuple_info"]((x,), 2, "")
    with pytest.raises(TVMError):
        F["vm.builtin.check_prim_value_info"](x, F32, "")
    with pytest.raises(TVMError):
        F["vm.builtin.check_func_info"](x, "")


def test_views():
    x = np.arange(4, dtype="int32")
    assert F["vm.builtin.reshape"](x, (2, 2)).shape == (2, 2)
    view = F["runtime.TVMTensorCreateView"](x, (2,), DataType("int32"), 8)
    assert view.tolist() == [2, 3]
