"""The words of Relay: building, comparing, storing, walking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.scope_builder import ScopeBuilder

pytestmark = pytest.mark.pure


def test_arithmetic_makes_calls() -> None:
    x, y = relay.var("x", "float32"), relay.var("y", "float32")
    for made, name in (
        (x + y, "add"), (x - y, "subtract"), (x * y, "multiply"), (x / y, "divide"),
        (x // y, "floor_divide"), (x % y, "mod"), (-x, "negative"), (x < y, "less"),
        (x >= y, "greater_equal"), (x.astype("int32"), "cast"),
    ):  # fmt: skip
        assert made.op == relay.op.get(name)
    with pytest.raises(TypeError, match="convert \"1\" with `const` first"):
        x + 1


def test_constants() -> None:
    assert relay.const(1).data.dtype == "int32"
    assert relay.const(1.0).data.dtype == "float32"
    assert relay.const(True).data.dtype == "bool"
    assert relay.const(np.ones(2, "int64")).data.dtype == "int32"
    assert relay.const(np.float64(1.5)).data.dtype == "float32"
    assert relay.const(np.ones(2, "int64"), "int64").data.dtype == "int64"
    assert relay.const(np.ones(2, "uint64")).data.dtype == "uint64"
    assert relay.const(tvm.nd.array(np.ones(2, "float64"))).data.dtype == "float64"
    half = relay.const([1, 2], "float16")
    assert half.tensor_type == relay.TensorType((2,), "float16")
    with pytest.raises(ValueError, match="has not populated the checked_type"):
        half.checked_type
    with pytest.raises(ValueError, match="value has to be scalar or NDArray"):
        relay.const("x")


def test_variables() -> None:
    assert relay.var("x", shape=(2,)).type_annotation == relay.TensorType((2,), "float32")
    assert relay.var("x", "int32").type_annotation == relay.TensorType((), "int32")
    assert relay.var("x").type_annotation is None
    with pytest.raises(ValueError, match="Can only specify either"):
        relay.var("x", "int32", shape=(2,))
    with pytest.raises(ValueError, match="has not populated the checked_type"):
        relay.var("x").checked_type


def test_tuples() -> None:
    pair = relay.Tuple([relay.const(1), relay.const(2)])
    assert len(pair) == 2
    assert pair[-1].data.numpy() == 2
    with pytest.raises(IndexError, match="Tuple index out of range"):
        pair[2]
    with pytest.raises(TypeError, match="astype cannot be used on tuple"):
        pair.astype("int32")
    parts = relay.split(relay.var("x", shape=(4,)), 2)
    assert len(parts) == 2
    assert [p.index for p in parts] == [0, 1]


def test_equality_and_json() -> None:
    def make() -> Any:
        x = relay.var("x", shape=(2, relay.Any()))
        v = relay.var("v")
        branch = relay.If(relay.const(True), x, relay.nn.relu(x))
        return relay.Function([x], relay.Let(v, branch, relay.Tuple([v, relay.RefCreate(v)])))

    a, b = make(), make()
    tvm.ir.assert_structural_equal(a, b)
    assert tvm.ir.structural_hash(a) == tvm.ir.structural_hash(b)
    tvm.ir.assert_structural_equal(tvm.ir.load_json(tvm.ir.save_json(a)), a)
    x = relay.var("x", shape=(3,))
    assert not tvm.ir.structural_equal(a, relay.Function([x], x))


def test_json_keeps_types() -> None:
    x = relay.var("x", shape=(2,))
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.exp(x)))
    again = tvm.ir.load_json(tvm.ir.save_json(mod))
    assert again["main"].body.checked_type == relay.TensorType((2,), "float32")


def test_types() -> None:
    assert relay.TensorType((2, 3)) == relay.TensorType((2, 3), "float32")
    assert relay.TensorType((2, 3)) != relay.TensorType((2, 4))
    assert relay.TensorType((2, 3)).concrete_shape == (2, 3)
    assert relay.is_dynamic(relay.TensorType((relay.Any(), 3)))
    assert not relay.is_dynamic(relay.TensorType((1, 3)))
    with pytest.raises(TypeError, match="is not a number"):
        relay.TensorType((relay.Any(),)).concrete_shape
    t = relay.TypeVar("t")
    assert t == t
    assert t != relay.TypeVar("t")
    assert relay.ShapeVar("s").kind == relay.TypeKind.ShapeVar
    assert relay.FuncType([t], t, [t]) == relay.FuncType([t], t, [t])


def test_copies_with_other_fields() -> None:
    x, y = relay.var("x"), relay.var("y")
    call = relay.add(x, y)
    made = relay.CallWithFields(call, args=[y, y])
    assert made.args == (y, y)
    assert relay.CallWithFields(call) is call
    func = relay.Function([x], x)
    assert relay.FunctionWithFields(func, body=relay.const(1)).body.data.numpy() == 1
    assert func.with_attr("Primitive", 1).attrs["Primitive"] == 1


def test_bind() -> None:
    x, y, z = relay.var("x"), relay.var("y"), relay.var("z")
    func = relay.Function([x, y], x + y)
    made = relay.bind(func, {y: relay.const(1.0)})
    tvm.ir.assert_structural_equal(made, relay.Function([x], x + relay.const(1.0)))
    made = relay.bind(func, {x: z})
    tvm.ir.assert_structural_equal(made, relay.Function([y, z], z + y))


def test_scopes() -> None:
    sb = ScopeBuilder()
    with pytest.raises(RuntimeError, match="else scope must follow if scope"):
        sb.else_scope()
    with pytest.raises(RuntimeError, match="no return value is set"):
        sb.get()
    x = sb.let("x", relay.const(1))
    sb.ret(x)
    with pytest.raises(RuntimeError, match="already set"):
        sb.ret(x)
    assert isinstance(sb.get(), relay.Let)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: relay.Call(1, []), "the callee is a int"),
        (lambda: relay.Tuple([1]), "an operand is a int"),
        (lambda: relay.Function([], 1), "the body is a int"),
        (lambda: relay.Function([relay.const(1)], relay.const(1)), "a parameter is a Constant"),
        (lambda: relay.var("x", 3), "the annotation is a int"),
        (lambda: relay.add(1, relay.const(1)), "an operand is a int"),
        (lambda: relay.TensorType(3), "the shape is a int"),
    ],
)
def test_wrong_words_are_refused(make: Any, text: str) -> None:
    with pytest.raises((TypeError, tvm.TVMError), match=text):
        make()


class Counter(relay.ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def visit_call(self, call: relay.Call) -> None:
        self.calls += 1
        super().visit_call(call)


class Renamer(relay.ExprMutator):
    def visit_op(self, op: Any) -> Any:
        return relay.op.get("subtract") if op.name == "add" else op


def test_functors() -> None:
    x = relay.var("x")
    expr = relay.exp(x + x)
    counter = Counter()
    counter.visit(relay.Tuple([expr, expr]))
    assert counter.calls == 2
    tvm.ir.assert_structural_equal(Renamer().visit(expr), relay.exp(x - x), map_free_vars=True)
    assert relay.ExprMutator().visit(expr) is expr
    with pytest.raises(NotImplementedError, match="has no rule for a Var"):
        relay.ExprFunctor().visit(x)


def test_functors_go_through_long_programs() -> None:
    x = relay.var("x")
    y: Any = x
    for _ in range(20000):
        y = y + x
    counter = Counter()
    counter.visit(y)
    assert counter.calls == 20000
    made = Renamer().visit(relay.Function([x], y))
    assert relay.testing.count_ops(made) == {"subtract": 20000}
    lets: Any = x
    for _ in range(20000):
        lets = relay.Let(relay.var("v"), x, lets)
    assert relay.ExprMutator().visit(lets) is lets


def test_type_functors() -> None:
    class Widen(relay.TypeMutator):
        def visit_tensor_type(self, tt: Any) -> Any:
            return relay.TensorType(tt.shape, "float64")

    found = relay.FuncType([relay.TupleType([relay.scalar_type("int32")])], relay.TensorType((2,)))
    wide = relay.scalar_type("float64")
    want = relay.FuncType([relay.TupleType([wide])], relay.TensorType((2,), "float64"))
    assert Widen().visit(found) == want
    with pytest.raises(NotImplementedError, match="has no rule for a TensorType"):
        relay.TypeFunctor().visit(wide)


def test_programs_that_use_values_twice_are_compared_node_by_node() -> None:
    def doubled(times: int) -> Any:
        x = relay.var("x", shape=(2,))
        value: Any = x
        for _ in range(times):
            value = relay.add(value, value)
        return relay.Function([x], value)

    # as trees, these have more nodes than anything could walk
    a, b = doubled(200), doubled(200)
    assert tvm.ir.structural_equal(a, b)
    assert tvm.ir.structural_hash(a) == tvm.ir.structural_hash(b)
    assert not tvm.ir.structural_equal(a, doubled(199))
    assert not tvm.ir.structural_equal(a, doubled(201))


def test_computed_once_is_not_computed_twice() -> None:
    x = relay.var("x", shape=(2,))
    shared = relay.exp(x)
    once = relay.Function([x], relay.add(shared, shared))
    twice = relay.Function([x], relay.add(relay.exp(x), relay.exp(x)))
    assert not tvm.ir.structural_equal(once, twice)
    assert not tvm.ir.structural_equal(twice, once)
    assert tvm.ir.structural_hash(once) != tvm.ir.structural_hash(twice)
    empty = relay.Tuple([])
    pair = relay.Tuple([empty, empty]), relay.Tuple([relay.Tuple([]), relay.Tuple([])])
    assert tvm.ir.structural_equal(*pair)


def test_where_nothing_was_decided() -> None:
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.exp(x))
    anywhere = tvm.target.VirtualDevice()
    for expr in (x, func, func.body, relay.const(1), relay.Tuple([x])):
        assert expr.virtual_device_ == anywhere
    assert "virtual_device" not in func.astext()
    text = '#[version = "0.0.5"]\ndef @main(%x {virtual_device=3}: int32) { %x }'
    with pytest.raises(tvm.TVMError, match="virtual_device is a int"):
        relay.parse(text)
