"""Operators: one object a name, attributes with levels."""

from __future__ import annotations

import pytest

import tvm
from tvm.ir import Op, register_intrin_lowering, register_op_attr
from tvm.ir.op import OPS, declare

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
