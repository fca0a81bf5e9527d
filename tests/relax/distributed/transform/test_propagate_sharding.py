"""PropagateSharding: from a few annotations to a place for every tensor."""

from __future__ import annotations

import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.distributed import DeviceMesh, Placement
from tvm.relax.distributed.transform import PropagateSharding
from tvm.relax.op.distributed import annotate_sharding
from tvm.script import ir as I
from tvm.script import relax as R

from .programs import Placed, Whole

pytestmark = pytest.mark.pure
MESH = DeviceMesh((2, 2), [0, 1, 2, 3])


def test_kernels() -> None:
    after = PropagateSharding()(Whole)
    tvm.ir.assert_structural_equal(after, Placed)
    assert relax.analysis.well_formed(after)


def _graph(build: object) -> list[str]:
    """The placements of parameters and result, where the first value of `build` is annotated."""
    params = [relax.Var(n, relax.TensorStructInfo((8, 8), "float32")) for n in "xyz"]
    bb = relax.BlockBuilder()
    with bb.function("main", params):
        result = build(bb, *params)  # type: ignore[operator]
        bb.emit_func_output(result)
    func = PropagateSharding()(bb.get())["main"]
    infos = [p.struct_info for p in func.params] + [func.ret_struct_info]
    return [str(info.placement) for info in infos]


def _note(bb: relax.BlockBuilder, value: relax.Expr, place: str) -> relax.Var:
    return bb.emit(annotate_sharding(value, MESH, Placement.from_text(place)))


def test_operators_pass_places_on_in_both_directions() -> None:
    def build(bb: relax.BlockBuilder, x: relax.Var, y: relax.Var, z: relax.Var) -> relax.Var:
        a = bb.emit(relax.op.matmul(x, y))
        b = _note(bb, bb.emit(relax.op.nn.gelu(a)), "S[0], S[1]")
        c = bb.emit(relax.op.matmul(b, z))
        return bb.emit(relax.op.permute_dims(c))

    assert _graph(build) == ["S[0], R", "R, S[1]", "R, S[0]", "S[1], R"]


def test_tuples_and_constants() -> None:
    def build(bb: relax.BlockBuilder, x: relax.Var, y: relax.Var, z: relax.Var) -> relax.Var:
        pair = bb.emit(relax.Tuple([x, y]))
        first = _note(bb, bb.emit(relax.TupleGetItem(pair, 0)), "S[1], R")
        return bb.emit(relax.op.add(first, relax.const(1.0, "float32")))

    assert _graph(build) == ["S[1], R", "R, R", "R, R", "S[1], R"]


def test_without_annotations_nothing_changes() -> None:
    mod = IRModule({"main": Placed["main"]})
    assert PropagateSharding()(mod)["main"] is mod["main"]


@I.ir_module
class Stages:
    I.module_global_infos(
        {"mesh": [R.device_mesh((2,), I.Range(0, 2)), R.device_mesh((2,), I.Range(2, 4))]}
    )

    @R.function(pure=False)
    def main(x: R.Tensor((8, 8), "float32"), w: R.Tensor((8, 8), "float32"),
             v: R.Tensor((8, 8), "float32"), cache: R.Object):
        a = R.matmul(x, w)
        b = R.dist.annotate_sharding(a, "mesh[0]", "S[1]")
        c = R.nn.gelu(b)
        d = R.dist.redistribute(c, "mesh[1]", "S[0]")
        k = R.call_packed("read", cache, sinfo_args=(R.Tensor((8, 8), "float32"),))
        e = R.add(d, k)
        f = R.matmul(e, v)
        return f


@I.ir_module
class PlacedStages:
    I.module_global_infos(
        {"mesh": [R.device_mesh((2,), I.Range(0, 2)), R.device_mesh((2,), I.Range(2, 4))]}
    )

    @R.function(pure=False)
    def main(x: R.DTensor((8, 8), "float32", "mesh[0]", "R"),
             w: R.DTensor((8, 8), "float32", "mesh[0]", "S[1]"),
             v: R.DTensor((8, 8), "float32", "mesh[1]", "R"),
             cache: R.Object) -> R.DTensor((8, 8), "float32", "mesh[1]", "S[0]"):
        a: R.DTensor((8, 8), "float32", "mesh[0]", "S[1]") = R.matmul(x, w)
        c: R.DTensor((8, 8), "float32", "mesh[0]", "S[1]") = R.nn.gelu(a)
        d: R.DTensor((8, 8), "float32", "mesh[1]", "S[0]") = R.dist.redistribute(
            c, "mesh[1]", "S[0]"
        )
        k = R.call_packed(
            "read", cache, sinfo_args=(R.DTensor((8, 8), "float32", "mesh[1]", "S[0]"),)
        )
        e: R.DTensor((8, 8), "float32", "mesh[1]", "S[0]") = R.add(d, k)
        f: R.DTensor((8, 8), "float32", "mesh[1]", "S[0]") = R.matmul(e, v)
        return f


def test_each_stage_has_a_mesh_of_its_own() -> None:
    after = PropagateSharding()(Stages)
    tvm.ir.assert_structural_equal(after, PlacedStages)
    assert relax.analysis.well_formed(after)


def test_two_meshes_of_linked_values_are_refused() -> None:
    def build(bb: relax.BlockBuilder, x: relax.Var, y: relax.Var, z: relax.Var) -> relax.Var:
        a = _note(bb, x, "S[1], R")
        other = DeviceMesh((4,), [0, 1, 2, 3])
        return bb.emit(annotate_sharding(a, other, Placement.from_text("R")))

    with pytest.raises(TVMError, match="legal: one mesh"):
        _graph(build)


def test_branches_are_refused() -> None:
    @I.ir_module
    class Branches:
        I.module_global_infos({"mesh": [R.device_mesh((2,), [0, 1])]})

        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((8, 4), "float32")):
            a = R.dist.annotate_sharding(x, "mesh[0]", "S[0]")
            if c:
                y = R.nn.relu(a)
            else:
                y = R.negative(a)
            return y

    with pytest.raises(TVMError, match=r"PropagateSharding(.|\n)*a branch"):
        PropagateSharding()(Branches)


def test_calls_of_functions_are_refused() -> None:
    @I.ir_module
    class Mod:
        I.module_global_infos({"mesh": [R.device_mesh((2,), I.Range(0, 2))]})

        @R.function
        def main(x: R.Tensor((8, 8), "float32")):
            cls = Mod
            a = R.dist.annotate_sharding(x, device_mesh="mesh[0]", placement="S[0]")
            b = cls.inner(a)
            return b

        @R.function(private=True)
        def inner(x: R.Tensor((8, 8), "float32")) -> R.Tensor((8, 8), "float32"):
            y = R.exp(x)
            return y

    with pytest.raises(TVMError, match=r"PropagateSharding(.|\n)*a call of a function: inner\("):
        PropagateSharding()(Mod)
    inlined = PropagateSharding()(relax.transform.InlinePrivateFunctions()(Mod))
    assert relax.analysis.well_formed(inlined)
    assert str(inlined["main"].ret_struct_info.placement) == "S[0]"
