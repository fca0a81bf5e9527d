"""Every operator from its declaration: shapes, dtypes, meaning, legalised meaning, errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.relax.op.cases import CASES, SYMBOLS, Case
from tvm import relax, tir
from tvm.error import InternalError, TVMError
from tvm.ir.op import OPS, Op
from tvm.ir.structural import structural_equal
from tvm.relax import interp
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.op.declare import script_ops
from tvm.relax.op.for_programs import FOR_PROGRAMS
from tvm.relax.struct_info import TensorStructInfo, TupleStructInfo

pytestmark = pytest.mark.pure

# No numbers can be compared for these: they are about functions, devices, storage or workers.
BESIDE = ("relax.call_", "relax.ccl.", "relax.memory.", "relax.vm.", "relax.builtin.",
          "relax.inspect.")  # fmt: skip


def _variables(case: Case) -> list[relax.Var]:
    symbols = {name: tir.Var(name, "int64") for name in SYMBOLS}
    infos = [
        TensorStructInfo([symbols[e] if isinstance(e, str) else e for e in x.shape], x.dtype)
        for x in case.tensors
    ]
    return [relax.Var(f"x{i}", info) for i, info in enumerate(infos)]


def _arrays(case: Case) -> list[Any]:
    rng = np.random.default_rng(7)
    return [x.array(rng) for x in case.tensors]


def _module(case: Case, legalize: bool = False) -> Any:
    bb = relax.BlockBuilder()
    variables = _variables(case)
    with bb.function("main", variables):
        call = bb.normalize(case.build(*variables))
        if legalize:
            assert isinstance(call, relax.Call)
            own = call.op.get_attr("FLegalize")
            call = FOR_PROGRAMS.get(call.op.name, own)(bb, call)
        bb.emit_func_output(bb.emit(call))
    return bb.get()


def _pairs(found: Any, info: Any) -> Iterator[tuple[Any, TensorStructInfo]]:
    if isinstance(info, TupleStructInfo):
        for part, field in zip(found, info.fields, strict=True):
            yield from _pairs(part, field)
    else:
        yield found, info


def _fits(array: Any, info: TensorStructInfo) -> bool:
    """The array has the inferred dtype, and the inferred shape as far as it is known."""
    if array.dtype != numpy_dtype(info.dtype):
        return False
    if info.values is None:
        return info.ndim in (-1, array.ndim)
    extents = [int(_number(extent)) for extent in info.values]
    return list(array.shape) == extents


def _number(extent: Any) -> int:
    names = {n.name: n for n in tir.functor.walk(extent) if isinstance(n, tir.Var)}
    return int(tir.interp.evaluate(extent, {var: SYMBOLS[name] for name, var in names.items()}))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_shape_and_dtype_are_those_of_the_reference(case: Case) -> None:
    mod = _module(case)
    func = mod["main"]
    found = interp.run(mod, *_arrays(case))
    for array, info in _pairs(found, func.ret_struct_info):
        assert _fits(array, info), f"{array.shape} {array.dtype} is not {info}"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_legalised_call_means_the_same(case: Case) -> None:
    expected = interp.run(_module(case), *_arrays(case))
    legal = _module(case, legalize=True)
    found = interp.run(legal, *_arrays(case))
    for (a, info), (b, _) in zip(
        _pairs(found, legal["main"].ret_struct_info),
        _pairs(expected, legal["main"].ret_struct_info),
        strict=True,
    ):
        assert a.dtype == b.dtype
        if info.dtype.is_floating:
            limit = max(case.tolerance, 2e-3 if info.dtype.bits == 16 else 0)
            np.testing.assert_allclose(
                a.astype(np.float64), b.astype(np.float64), rtol=limit, atol=limit
            )
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_unknown_shapes_are_taken(case: Case) -> None:
    """With dtypes only, the result's dtype is still known, and nothing is made up."""
    known = _module(case)["main"].ret_struct_info
    variables = [relax.Var(f"x{i}", TensorStructInfo(None, x.dtype, ndim=len(x.shape)))
                 for i, x in enumerate(case.tensors)]  # fmt: skip
    if case.op == "reshape":  # -1 and 0 in the target need the shape, and say so
        with pytest.raises(TVMError, match="which is not known"):
            case.build(*variables)
        return
    info = relax.BlockBuilder().normalize(case.build(*variables)).struct_info
    for (found, _), (wanted, _) in zip(_pairs(*_twice(info)), _pairs(*_twice(known)), strict=True):
        assert found.dtype == wanted.dtype
        assert found.ndim in (-1, wanted.ndim)


def _twice(info: Any) -> tuple[Any, Any]:
    return (info.fields if isinstance(info, TupleStructInfo) else info), info


def test_wrong_kind_of_operand_is_named() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    with pytest.raises(TVMError, match=r"relax\.exp: x must be a tensor") as err:
        relax.BlockBuilder().normalize(relax.op.exp(shape))
    assert "legal: a tensor" in str(err.value)


def test_wrong_number_of_operands_is_named() -> None:
    x = relax.Var("x", TensorStructInfo((2,)))
    with pytest.raises(TVMError, match="wrong number of operands"):
        relax.BlockBuilder().normalize(relax.Call(Op.get("relax.add"), [x]))


def test_every_operator_with_a_meaning_has_a_case() -> None:
    named = {f"relax.{case.op}" for case in CASES}
    lacking = [
        name
        for name in OPS.names()
        if name.startswith("relax.")
        and not name.startswith(BESIDE)
        and Op.get(name).has_attr("FReference")
        and Op.get(name).has_attr("FLegalize")
        and name not in named
        and name not in TESTED_ELSEWHERE
    ]
    assert not lacking


TESTED_ELSEWHERE = (
    "relax.grad.no_grad", "relax.grad.start_checkpoint", "relax.grad.end_checkpoint",
    "relax.unique", "relax.nonzero",  # call packed functions; tested in test_set
    "relax.vision.all_class_non_max_suppression",  # tested in test_nms
    "relax.dist.redistribute_replica_to_shard",  # a piece for each worker; in test_distributed
    "relax.dynamic_strided_slice",  # several steps; tested in test_index
)  # fmt: skip


def test_declaration_gives_all_attributes() -> None:
    for name in OPS.names():
        if name.startswith("relax."):
            op = Op.get(name)
            assert op.has_attr("FInferStructInfo"), name
            assert op.has_attr("FMakeCall"), name
            assert op.get_attr("FPurity") in (True, False), name
            assert op.description, f"{name} has no docstring"


def test_script_names_are_callable_and_unique() -> None:
    names = script_ops()
    assert len(names) > 200
    assert all(callable(func) for func in names.values())
    assert {"add", "nn.conv2d", "nn.relu6", "linear", "call_tir", "memory.view"} <= set(names)


def test_attributes_have_fields_and_survive_copying() -> None:
    call = relax.op.sum(relax.Var("x", TensorStructInfo((2, 3))), axis=[0], keepdims=True)
    assert call.attrs is not None
    assert call.attrs.keys() == ["axis", "keepdims"]
    copy = type(call.attrs).from_fields(call.attrs.field_values())
    assert structural_equal(copy, call.attrs)
    assert copy["axis"] == (0,)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_legalised_calls_need_no_second_round(case: Case) -> None:
    legal = _module(case, legalize=True)
    for binding in relax.analysis.name_to_binding(legal["main"]).values():
        value = binding[0].value
        if isinstance(value, relax.Call) and isinstance(value.op, Op):
            assert not value.op.has_attr("FLegalize"), value.op.name


def test_the_number_of_operands_counts_those_that_may_be_left_out() -> None:
    counts = {"relax.call_tir": 3, "relax.nn.nll_loss": 3, "relax.unique": 6, "relax.add": 2}
    assert {name: Op.get(name).num_inputs for name in counts} == counts
    assert Op.get("relax.call_inplace_packed").num_inputs == -1


def test_calls_made_by_hand_say_what_they_lack() -> None:
    """A call without operands, and without attributes where the operator has some."""
    x = relax.Var("x", TensorStructInfo((2, 3)))
    bb = relax.BlockBuilder()
    for name in OPS.names():
        if not name.startswith("relax.") or Op.get(name).num_inputs == -1:
            continue
        required = [a for a in Op.get(name).arguments if a.name]
        if required:
            with pytest.raises(TVMError):
                bb.normalize(relax.Call(Op.get(name), []))
    for name in ("relax.nn.softmax", "relax.permute_dims", "relax.to_vdevice", "relax.sum"):
        with pytest.raises(TVMError, match=r"attributes are missing"):
            bb.normalize(relax.Call(Op.get(name), [x]))
    operands = relax.Tuple([x])
    for name in ("relax.call_tir", "relax.call_dps_packed", "relax.dist.call_tir_local_view"):
        with pytest.raises(TVMError, match="exactly one struct info is given"):
            bb.normalize(relax.Call(Op.get(name), [relax.ExternFunc("f"), operands]))


def test_an_operand_of_another_kind_fails_a_check() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo([2]))
    for kind in (InternalError, TypeError):
        with pytest.raises(kind, match="x must be a tensor"):
            relax.BlockBuilder().normalize(relax.op.exp(shape))
