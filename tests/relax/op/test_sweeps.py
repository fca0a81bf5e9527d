"""Every operator from its cases once more: other types, round trips of scripts, bad operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.op.cases import CASES, SYMBOLS, Case
from tvm import relax, tir
from tvm.error import TVMError
from tvm.ir.op import Op
from tvm.ir.structural import assert_structural_equal
from tvm.relax import interp
from tvm.relax.op.for_programs import FOR_PROGRAMS
from tvm.relax.struct_info import ShapeStructInfo, TensorStructInfo, TupleStructInfo

pytestmark = pytest.mark.pure

OTHERS = {"float32": ("float16", "float64"), "int32": ("int64", "uint8"), "int8": ("uint8",)}
TOLERANCE = {"float16": 3e-2, "bfloat16": 5e-2}


def _module(case: Case, dtype: str | None = None, legal: bool = False) -> Any:
    """The case's function, its operands of the leading type in another one."""
    symbols = {name: tir.Var(name, "int64") for name in SYMBOLS}
    lead = case.tensors[0].dtype if case.tensors else ""
    variables = [
        relax.Var(f"x{i}", TensorStructInfo(
            [symbols[e] if isinstance(e, str) else e for e in x.shape],
            dtype if dtype is not None and x.dtype == lead else x.dtype))
        for i, x in enumerate(case.tensors)
    ]  # fmt: skip
    bb = relax.BlockBuilder()
    with bb.function("main", variables):
        bb.emit_func_output(bb.emit(case.build(*variables)))
    mod = bb.get()
    return relax.transform.LegalizeOps(FOR_PROGRAMS)(mod) if legal else mod


def _sweep() -> list[tuple[Case, str]]:
    """The cases with each other type that the operator takes."""
    found = []
    for case in CASES:
        for dtype in OTHERS.get(case.tensors[0].dtype if case.tensors else "", ()):
            try:
                _module(case, dtype)
            except (TVMError, TypeError, ValueError):
                continue
            found.append((case, dtype))
    return found


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _leaves(part)]
    return [np.asarray(value)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "dtype"), [pytest.param(c, d, id=f"{c}-{d}") for c, d in _sweep()]
)
def test_other_types_mean_the_same(case: Case, dtype: str) -> None:
    lead = case.tensors[0].dtype
    rng = np.random.default_rng(7)
    arrays = [
        (x._replace(dtype=dtype, low=max(x.low, 0) if dtype == "uint8" else x.low)
         if x.dtype == lead else x).array(rng)
        for x in case.tensors
    ]  # fmt: skip
    wanted = _leaves(interp.run(_module(case, dtype), *arrays))
    found = _leaves(interp.run(_module(case, dtype, legal=True), *arrays))
    limit = max(TOLERANCE.get(dtype, 0), case.tolerance)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        if a.dtype.kind == "f":
            np.testing.assert_allclose(
                a.astype("float64"), b.astype("float64"), rtol=limit, atol=limit
            )
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_scripts_come_back(case: Case) -> None:
    mod = _module(case)
    assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)


def _call(case: Case) -> relax.Call | None:
    """The call of a case, where each operand stands for a parameter of the operator."""
    made = _module(case)["main"].body.blocks[0].bindings[-1].value
    if not isinstance(made, relax.Call) or not isinstance(made.op, Op) or not made.args:
        return None
    return made


@pytest.mark.parametrize("case", CASES, ids=str)
def test_bad_operands_are_named(case: Case) -> None:
    call = _call(case)
    if call is None:
        return
    bb = relax.BlockBuilder()
    name = call.op.name
    info = call.args[0].struct_info
    if isinstance(info, (TensorStructInfo, TupleStructInfo)):
        wrong = relax.Var("wrong", ShapeStructInfo(ndim=2))
        with pytest.raises(TVMError) as err:
            bb.normalize(relax.Call(call.op, [wrong, *call.args[1:]], call.attrs))
        assert str(err.value).startswith(name)
        assert call.op.arguments[0][0] in str(err.value)
    with pytest.raises(TVMError, match="wrong number of operands"):
        bb.normalize(relax.Call(call.op, [*call.args, *[call.args[0]] * 9], call.attrs))
