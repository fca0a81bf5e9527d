"""What may be read, and with which names."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from tvm import relax, tir
from tvm.error import DiagnosticError
from tvm.ir import IRModule, assert_structural_equal
from tvm.script import from_source, parse
from tvm.script import tir as T

pytestmark = pytest.mark.pure
TEXT = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = N\n'


def test_texts_see_the_names_given_to_them() -> None:
    func = from_source(TEXT, {"T": T, "N": 7})
    assert func.body.value.value == 7
    with pytest.raises(DiagnosticError, match="Undefined variable: N"):
        from_source(TEXT)


def test_syntax_trees_and_functions_are_programs_too() -> None:
    tree = ast.parse(TEXT.replace("N", "7"))
    assert isinstance(parse(tree), tir.PrimFunc)


def test_ill_formed_programs_are_refused_unless_wanted() -> None:
    text = '@T.prim_func\ndef f(A: T.Buffer((4,), "int32")):\n    A[0] = x\n'
    free = {"T": T, "x": tir.Var("x", "int32")}
    with pytest.raises(DiagnosticError, match="Program is not well-formed"):
        from_source(text, free)
    assert from_source(text, free, check_well_formed=False) is not None


def test_metadata_is_read_back() -> None:
    value = np.arange(6, dtype="float32").reshape(2, 3)
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, relax.const(value))))
    mod = builder.get()
    again = from_source(mod.script(show_meta=True))
    assert isinstance(again, IRModule)
    assert_structural_equal(mod, again)
    with pytest.raises(DiagnosticError, match="Undefined variable: metadata"):
        from_source(mod.script())
