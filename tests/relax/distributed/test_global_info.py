"""Meshes of devices."""

import pytest

import tvm
from tvm.error import TVMError
from tvm.ir import Range
from tvm.relax.distributed import DeviceMesh, device_mesh

pytestmark = pytest.mark.pure


def test_numbers_are_a_list_or_a_range():
    listed, ranged = DeviceMesh((2, 2), [0, 1, 2, 5]), device_mesh((2, 2), Range(4, 8))
    assert (listed.shape, listed.device_ids, listed.device_range) == ((2, 2), (0, 1, 2, 5), None)
    assert ranged.device_ids == (4, 5, 6, 7)
    assert isinstance(ranged.device_range, Range)
    tvm.ir.assert_structural_equal(ranged, DeviceMesh((2, 2), Range(4, 8)))
    assert not tvm.ir.structural_equal(listed, ranged)
    tvm.ir.assert_structural_equal(ranged, tvm.ir.load_json(tvm.ir.save_json(ranged)))


def test_the_numbers_fill_the_grid():
    with pytest.raises(TVMError) as caught:
        DeviceMesh((2, 2), [0, 1, 2])
    assert str(caught.value) == (
        "The number of device ids must match the product of the shape\n"
        "  found: 3 ids for the shape (2, 2)\n  legal: 4 ids"
    )
    with pytest.raises(TVMError, match="known numbers"):
        DeviceMesh((2,), Range(0, tvm.tir.Var("n", "int64")))


def test_a_range_is_the_list_of_its_numbers() -> None:
    ranged = DeviceMesh((2,), Range(0, 2))
    tvm.ir.assert_structural_equal(DeviceMesh((2,), [0, 1]), ranged)
    for other in (DeviceMesh((2,), [1, 0]), DeviceMesh((2, 1), [0, 1])):
        assert not tvm.ir.structural_equal(other, ranged)
