"""Placements, and tensors that have one."""

import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.relax.analysis import struct_info_base_check
from tvm.relax.distributed import (
    DeviceMesh,
    DTensorStructInfo,
    Placement,
    PlacementSpec,
    PlacementSpecKind,
)

pytestmark = pytest.mark.pure
MESH = DeviceMesh((2, 2), [0, 1, 2, 3])


def _tensor(*shape):
    return relax.TensorStructInfo(shape, "float32")


def test_placements_as_text():
    placement = Placement.from_text("S[0], R")
    first, second = placement.dim_specs
    assert (first.axis, first.kind) == (0, PlacementSpecKind.kSharding)
    assert second.kind is PlacementSpecKind.kReplica
    assert str(placement) == "S[0], R"
    made = Placement([PlacementSpec.sharding(0), PlacementSpec.replica()])
    tvm.ir.assert_structural_equal(placement, made)
    with pytest.raises(TVMError, match=r"found: the part 'T\[0\]'"):
        Placement.from_text("R, T[0]")


def test_fields():
    info = DTensorStructInfo(_tensor(4, 6), MESH, Placement.from_text("S[1], R"))
    assert info.device_mesh is MESH
    assert info.tensor_sinfo.ndim == 2
    tvm.ir.assert_structural_equal(info, tvm.ir.load_json(tvm.ir.save_json(info)))
    assert info.with_tensor(info.tensor_sinfo) is info


def test_misfits_are_refused():
    with pytest.raises(TVMError, match="must have the same dimension size"):
        DTensorStructInfo(_tensor(4, 6), MESH, Placement.from_text("R"))
    with pytest.raises(TVMError, match="should be smaller than tensor ndim"):
        DTensorStructInfo(_tensor(4, 6), MESH, Placement.from_text("S[2], R"))
    with pytest.raises(TypeError, match="found: 'R, R' of type str"):
        DTensorStructInfo(_tensor(4, 6), MESH, "R, R")  # type: ignore[arg-type]


def test_one_may_cover_another():
    place = Placement.from_text("S[1], R")
    general = DTensorStructInfo(relax.TensorStructInfo(None, "float32", ndim=2), MESH, place)
    known = DTensorStructInfo(_tensor(4, 6), MESH, place)
    elsewhere = DTensorStructInfo(_tensor(4, 6), MESH, Placement.from_text("R, R"))
    check = relax.analysis.BaseCheckResult
    assert struct_info_base_check(general, known) == check.PASS
    assert struct_info_base_check(known, general) == check.FAIL_L2
    assert struct_info_base_check(elsewhere, known) == check.FAIL_L1
    assert struct_info_base_check(relax.ObjectStructInfo(), known) == check.PASS


def test_symbols_are_seen_and_erased():
    n = tvm.tir.Var("n", "int64")
    info = DTensorStructInfo(_tensor(n, 6), MESH, Placement.from_text("S[1], R"))
    assert relax.analysis.tir_vars_in_struct_info(info) == [n]
    erased = relax.analysis.erase_to_well_defined(info)
    assert isinstance(erased, DTensorStructInfo)
    assert erased.tensor_sinfo.shape is None
    bound = relax.analysis.erase_to_well_defined(info, {n: tvm.tir.IntImm("int64", 8)})
    tvm.ir.assert_structural_equal(bound.tensor_sinfo, _tensor(8, 6))
