"""Names of results, which stand beside a module."""

from __future__ import annotations

import tvm
from tvm import relax
from tvm.relax.result_names import note_result_names, result_names


def _module() -> tvm.IRModule:
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.exp(x)))
    return bb.get()


def test_names_are_found_again_after_passes() -> None:
    mod = _module()
    assert result_names(mod, "main") == []
    note_result_names(mod, "main", ["head/a"])
    mod = relax.transform.FuseOps()(relax.transform.LegalizeOps()(mod))
    assert result_names(mod, "main") == ["head/a"]
    assert result_names(mod, "other") == []


def test_modules_that_differ_in_names_are_equal() -> None:
    mod = _module()
    note_result_names(mod, "main", ["head/a"])
    tvm.ir.assert_structural_equal(mod, _module())
    assert str(mod) == str(_module())
