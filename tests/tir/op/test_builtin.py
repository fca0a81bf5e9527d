"""Builtins: control, addresses, packed calls, reducers, effects."""

from __future__ import annotations

import pytest

from tvm import te, tir
from tvm.ir import Op
from tvm.tir.effects import effect_of

pytestmark = pytest.mark.pure
X = tir.Var("x", "int32")
A = tir.decl_buffer((4,), "float32", "A")


def test_if_then_else() -> None:
    call = tir.if_then_else(X < 3, 1, 2.0)
    assert call.dtype == "float32"
    assert tir.if_then_else(True, 1, 2).value == 1
    with pytest.raises(TypeError, match="if_then_else only accept the condition to be boolean"):
        tir.if_then_else(X, 1, 2)
    with pytest.raises(TypeError, match=r"legal: one bool, or tir\.Select for each lane"):
        tir.if_then_else(tir.Broadcast(X < 3, 4), 1, 2)


def test_likely_leaves_literals_alone() -> None:
    assert tir.likely(tir.const(True, "bool")).value == 1
    assert tir.likely(X < 3).op.name == "tir.likely"


def test_reinterpret_keeps_the_size() -> None:
    assert tir.reinterpret("float32", X).dtype == "float32"
    assert tir.reinterpret("int32", X) is X
    assert tir.reinterpret("int8x4", X).dtype == "int8x4"
    with pytest.raises(TypeError, match="int32 and float64 differ in size"):
        tir.reinterpret("float64", X)


def test_addresses() -> None:
    assert tir.address_of(A).args[0].buffer is A
    assert tir.address_of(A[2]).dtype == "handle"
    with pytest.raises(ValueError, match=r"Invalid object type: .*Var"):
        tir.address_of(X)


def test_packed_calls_turn_buffers_into_arrays() -> None:
    call = tir.call_packed("f", A, X)
    assert call.args[0].value == "f"
    assert call.args[1].op.name == "tir.tvm_stack_make_array"
    with pytest.raises(TypeError, match="consumes the args as list type"):
        tir.trace(X)


def test_effects() -> None:
    kinds = tir.CallEffectKind
    assert effect_of(tir.exp(tir.Var("f", "float32"))) == kinds.Pure
    assert effect_of(tir.call_extern("int32", "f")) == kinds.Opaque
    assert effect_of(tir.ret(X)) == kinds.ControlJump
    assert effect_of(tir.call_pure_extern("int32", "f")) == kinds.Pure


def test_reducers() -> None:
    product = te.comm_reducer(lambda x, y: x * y, lambda t: tir.const(1, t), name="product")
    k = te.reduce_axis((0, 4), "k")
    reduce = product(A[k], axis=k)
    assert isinstance(reduce, tir.Reduce)
    assert reduce.combiner.identity_element[0].value == 1.0
    assert isinstance(product(X, 3, 4), tir.Mul)  # called on values it combines them
    assert tir.max(A[k], axis=k).combiner.identity_element[0].value < -1e38


def test_every_operator_of_the_reference_is_declared() -> None:
    from tests.structure.reference import DATA

    wanted = [n for n in (DATA / "tir_ops.txt").read_text().split() if n.startswith("tir.")]
    known = set(Op.list_op_names())
    assert [name for name in wanted if name not in known] == []
