"""Operators: one object a name, attributes with levels."""

from __future__ import annotations

import functools
import subprocess
import sys

import pytest

import tvm
from tvm.ir import Op, register_intrin_lowering, register_op_attr
from tvm.ir.op import OPS, customised, declare
from tvm.relay.testing.temp_op_attr import TempOpAttr

pytestmark = pytest.mark.pure


@pytest.fixture
def op():
    made = declare("test.op", "does nothing", 1)
    yield made
    OPS.remove("test.op")


def test_found_by_name(op: Op) -> None:
    assert Op.get("test.op") is op
    assert "test.op" in Op.list_op_names()
    assert str(op) == "Op(test.op)"
    for kind in (tvm.TVMError, AttributeError):
        with pytest.raises(kind, match=r"Operator test\.oq is not registered: .*did you mean"):
            Op.get("test.oq")


def test_attributes(op: Op) -> None:
    assert op.get_attr("A") is None
    op.set_attr("A", 1)
    assert op.has_attr("A")
    with pytest.raises(tvm.TVMError, match=r"'A' of test\.op is already set at level 10"):
        op.set_attr("A", 2)
    op.set_attr("A", 3, plevel=11)
    op.set_attr("A", 4, plevel=5)
    assert op.get_attr("A") == 3
    op.reset_attr("A")
    assert not op.has_attr("A")


def test_documentation_fields(op: Op) -> None:
    op.add_argument("x", "Tensor", "what")
    op.set_support_level(1)
    op.set_num_inputs(2)
    op.set_attrs_type_key("attrs.X")
    assert (op.arguments, op.support_level, op.num_inputs, op.attrs_type_key) == (
        [("x", "Tensor", "what")], 1, 2, "attrs.X",
    )  # fmt: skip


def test_registration_from_outside(op: Op) -> None:
    @register_op_attr("test.op", "FRule")
    def rule() -> int:
        return 3

    assert op.get_attr("FRule") is rule
    register_intrin_lowering("test.op", "llvm", f=rule)
    assert op.get_attr("llvm.FLowerIntrinsic") is rule


def test_rules_of_others_are_noticed_while_they_stand() -> None:
    made = declare("test.customised")
    assert not customised()
    made.set_attr("A", "a word")
    made.set_attr("B", functools.partial(declare))
    assert not customised()
    made.set_attr("C", functools.partial(test_attributes))
    assert customised()
    made.reset_attr("C")
    assert not customised()
    made.set_attr("D", test_attributes)
    OPS.remove("test.customised")
    assert not customised()


def test_what_stood_under_a_rule_of_others_has_to_come_back() -> None:
    made = declare("test.displaced")
    try:
        made.set_attr("A", declare)
        made.set_attr("A", test_attributes, plevel=11)
        made.reset_attr("A")
        assert customised()
        made.set_attr("A", declare)
        assert not customised()
        made.reset_attr("A")
        assert customised()
    finally:
        OPS.remove("test.displaced")


def test_a_rule_for_a_while_leaves_no_trace() -> None:
    made = declare("test.for_a_while")
    try:
        for rule in (declare, test_attributes):
            with TempOpAttr("test.for_a_while", "A", rule):
                assert made.get_attr("A") is rule
            assert not made.has_attr("A")
            assert not customised()
        made.set_attr("A", test_attributes, plevel=12)
        with TempOpAttr("test.for_a_while", "A", declare):
            assert not customised()
        assert customised()
        with pytest.raises(tvm.TVMError, match="already set at level 12"):
            made.set_attr("A", declare, plevel=12)
    finally:
        OPS.remove("test.for_a_while")


def test_operators_bring_rules_of_ours_only() -> None:
    program = (
        "import tvm; from tvm import relax; from tvm.ir.op import OPS, customised; OPS.names()\n"
        "print(customised())\n"
        "tvm.ir.register_op_attr('relax.add', 'FLegalize', lambda bb, call: call, level=11)\n"
        "print(customised())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_arguments_have_names(op: Op) -> None:
    op.add_argument("x", "Tensor", "what")
    (argument,) = op.arguments
    assert (argument.name, argument.type_info, argument.description) == ("x", "Tensor", "what")
    assert Op.get("relax.strided_slice").num_inputs == 1
    assert Op.get("relax.call_builtin_with_ctx").num_inputs == 4
    assert Op.get("relax.clip").arguments[1].type_info == "PrimValue"
