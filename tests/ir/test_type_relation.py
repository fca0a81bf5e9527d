"""Types that name a rule."""

from __future__ import annotations

import pytest

import tvm
from tvm.ir import EnvFunc, PrimType, load_json, save_json, structural_equal
from tvm.ir.type_relation import TypeCall, TypeRelation

pytestmark = pytest.mark.pure


def test_relation_holds_its_rule_and_its_types() -> None:
    tvm.register_global_func("test.type_relation.same", lambda *args: None, override=True)
    func = EnvFunc.get("test.type_relation.same")
    made = TypeRelation(func, [PrimType("int8"), PrimType("int8")], 1, None)
    assert made.num_inputs == 1
    assert made.func.name == "test.type_relation.same"
    assert structural_equal(made, load_json(save_json(made)))
    assert not structural_equal(made, TypeRelation(func, made.args, 2, None))


def test_relation_wants_a_registered_rule() -> None:
    with pytest.raises(TypeError, match="legal: an EnvFunc"):
        TypeRelation("same", [], 0, None)  # type: ignore[arg-type]


def test_call() -> None:
    made = TypeCall(PrimType("int8"), [PrimType("int16")])
    assert structural_equal(made, TypeCall(PrimType("int8"), [PrimType("int16")]))
    assert len(made.args) == 1
