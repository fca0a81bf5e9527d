"""Types that follow: through functions, lets, conditionals, references, data, open extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import DiagnosticError

pytestmark = pytest.mark.pure
HEAD = '#[version = "0.0.5"]\n'


def typed(expr: Any) -> Any:
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(expr))
    return mod["main"] if isinstance(expr, relay.Function) else mod["main"].body


def test_the_old_program_is_left() -> None:
    x = relay.var("x", shape=(2,))
    func = relay.Function([x], relay.exp(x))
    made = typed(func)
    assert func.ret_type is None
    assert made.ret_type == relay.TensorType((2,))


def test_monomorphic_let() -> None:
    x = relay.var("x")
    assert typed(relay.Let(x, relay.const(1.0), x)).checked_type == relay.scalar_type("float32")


def test_functions_as_values() -> None:
    t = relay.scalar_type("float32")
    x, f = relay.Var("x", t), relay.Var("f")
    inner = relay.Function([x], relay.exp(x))
    func = relay.Function([x], relay.Let(f, inner, relay.Call(f, [x])))
    assert typed(func).checked_type == relay.FuncType([t], t)


def test_a_parameter_learns_its_type_from_the_call() -> None:
    x = relay.var("x")
    call = relay.Call(relay.Function([x], x + x), [relay.const(1.0)])
    assert typed(call).checked_type == relay.scalar_type("float32")


def test_generic_functions() -> None:
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    x, y = relay.Var("x", a), relay.Var("y", b)
    swap = relay.Function([x, y], relay.Tuple([y, x]), None, [a, b])
    call = relay.Call(swap, [relay.const(1.0), relay.Tuple([])])
    made = typed(call)
    unit = relay.TupleType([])
    assert made.checked_type == relay.TupleType([unit, relay.scalar_type("float32")])
    assert list(made.type_args) == [relay.scalar_type("float32"), unit]


def test_conditionals_agree() -> None:
    with pytest.raises(DiagnosticError, match="two types that should be one differ"):
        typed(relay.If(relay.const(True), relay.const(1.0), relay.const(1)))
    with pytest.raises(DiagnosticError, match="two types"):
        typed(relay.If(relay.const(1), relay.const(1.0), relay.const(1.0)))


def test_references() -> None:
    r = relay.Var("r")
    place = relay.RefCreate(relay.const(1.0))
    read = relay.Let(r, place, relay.RefRead(r))
    assert typed(place).checked_type == relay.RefType(relay.scalar_type("float32"))
    assert typed(read).checked_type == relay.scalar_type("float32")
    write = relay.RefWrite(place, relay.const(2.0))
    assert typed(write).checked_type == relay.TupleType([])


def test_recursion() -> None:
    mod = relay.parse(
        HEAD + "def @f(%n: int32) -> float32 "
        "{ if (%n == 0) { 1f } else { @f(subtract(%n, 1)) } }"
    )
    made = relay.transform.InferType()(mod)
    assert made["f"].body.checked_type == relay.scalar_type("float32")


def test_local_recursion() -> None:
    mod = relay.parse(
        HEAD + "def @f(%n: int32) { let %g = fn (%m: int32) -> int32 "
        "{ if (%m == 0) { 0 } else { %g(%m - 1) } }; %g(%n) }"
    )
    assert relay.transform.InferType()(mod)["f"].ret_type == relay.scalar_type("int32")


def test_data_types() -> None:
    mod = relay.parse(
        HEAD + "type Maybe[A] { Some(A), None_ }\n"
        "def @f(%m: Maybe[float32]) { match (%m) { Some(%x) => exp(%x), None_ => 0f } }"
    )
    made = relay.transform.InferType()(mod)
    assert made["f"].ret_type == relay.scalar_type("float32")
    pattern = made["f"].body.clauses[0].lhs
    assert pattern.patterns[0].var.checked_type == relay.scalar_type("float32")


def test_unknown_extents() -> None:
    x = relay.var("x", shape=(relay.Any(), 3))
    y = relay.var("y", shape=(1, 3))
    assert str(typed(x + y).checked_type) == "Tensor[(?, 3), float32]"
    flat = typed(relay.reshape(x, (-1,)))
    assert str(flat.checked_type) == "Tensor[(?), float32]"
    joined = typed(relay.concatenate([x, x], 0))
    assert str(joined.checked_type) == "Tensor[(?, 3), float32]"
    assert str(typed(relay.argwhere(y)).checked_type) == "Tensor[(?, 2), int32]"


def test_symbolic_extents() -> None:
    n = tvm.tir.Var("n", "int32")
    x = relay.var("x", shape=(n, 4))
    assert typed(x + x).checked_type == relay.TensorType((n, 4))
    shape = typed(relay.concatenate([x, x], 0)).checked_type.shape
    tvm.ir.assert_structural_equal(tvm.arith.Analyzer().simplify(shape[0] - n * 2),
                                   tvm.tir.IntImm("int32", 0))  # fmt: skip


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: relay.add(relay.var("x"), relay.var("y")), "are not known"),
        (lambda: relay.TupleGetItem(relay.const(1), 0), "field 0 is taken of"),
        (lambda: relay.Call(relay.Function([], relay.const(1)), [relay.const(1)]), "wrong number"),
        (lambda: relay.Call(relay.const(1), []), "two types that should be one"),
        (lambda: relay.Call(relay.op.get("add"), [relay.const(1)]), "called with 1 arguments"),
        (lambda: relay.Call(relay.GlobalVar("nobody"), []), "@nobody is not in the module"),
    ],
)
def test_wrong_programs_are_refused(build: Any, text: str) -> None:
    with pytest.raises(DiagnosticError, match=text):
        typed(relay.Function([], build()))


def test_long_programs() -> None:
    x = relay.var("x", shape=(2,))
    y: Any = x
    for _ in range(20000):
        y = relay.add(y, x)
    assert typed(relay.Function([x], y)).ret_type == relay.TensorType((2,))


def test_what_is_left_of_a_shape() -> None:
    """-1 is the quotient, also where an extent stands several times on one side."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        dims = rng.choice([1, 2, 3, 4, 6], rng.integers(1, 5)).tolist()
        rest, codes = int(np.prod(dims)), []
        for _ in range(rng.integers(0, 3)):
            codes.append(int(rng.choice([d for d in range(1, rest + 1) if rest % d == 0])))
            rest //= codes[-1]
        codes.insert(int(rng.integers(0, len(codes) + 1)), -1)
        made = typed(relay.reshape(relay.var("x", shape=dims), codes))
        assert made.checked_type == relay.TensorType(np.zeros(dims).reshape(codes).shape)


def test_relations_by_name() -> None:
    broadcast = tvm.ir.EnvFunc.get("tvm.relay.type_relation.Broadcast")
    types = [relay.TensorType((2, 1)), relay.TensorType((3,))]
    assert broadcast(types, 2, None) == relay.TensorType((2, 3))
    relation = relay.TypeRelation(broadcast, types, 1, None)
    assert relay.analysis.check_kind(relation) == relay.TypeKind.Constraint
    same = tvm.ir.EnvFunc.get("tvm.relay.type_relation.Identity")
    assert same(types[:1], 1, None) == types[0]
    with pytest.raises(tvm.TVMError):
        broadcast([relay.TensorType((2,)), relay.TensorType((3,))], 2, None)


def test_doors_of_v018() -> None:
    from tvm.relay.analysis.analysis import extract_fused_functions
    from tvm.relay.transform.transform import InferType, PartialEvaluate

    assert extract_fused_functions is relay.analysis.extract_fused_functions
    assert InferType is relay.transform.InferType
    assert PartialEvaluate is relay.transform.PartialEvaluate
    assert tvm.ir.TensorType is relay.TensorType
    assert tvm.ir.RelayRefType is relay.RefType


def test_operands_of_deformable_convolutions_follow() -> None:
    x = relay.var("x", shape=(1, 4, 8, 6))
    conv = typed(relay.nn.deformable_conv2d(
        x, relay.var("offset"), relay.var("weight"), kernel_size=(3, 2), channels=2, groups=2,
        deformable_groups=2, padding=(1, 1), strides=(2, 1)))  # fmt: skip
    assert conv.checked_type == relay.TensorType((1, 2, 4, 7))
    assert conv.args[1].checked_type == relay.TensorType((1, 24, 4, 7))
    assert conv.args[2].checked_type == relay.TensorType((2, 2, 3, 2))


def test_scaled_symbols_are_rounded() -> None:
    n, h = tvm.te.size_var("n"), tvm.te.size_var("h")
    x = relay.var("x", shape=(n, 2, h, 5))
    up = typed(relay.nn.upsampling(x, 1.5, 1.5))
    rows = tvm.tir.Cast("int32", tvm.tir.round(h * tvm.tir.const(1.5, "float64")))
    assert up.checked_type == relay.TensorType((n, 2, rows, 8))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: relay.broadcast_to(x, (2, 4)),
        lambda x: relay.broadcast_to(x, (3,)),
        lambda x: relay.broadcast_to_like(x, relay.var("y", shape=(2, 4))),
        lambda x: relay.collapse_sum_to(x, (4,)),
        lambda x: relay.collapse_sum_to(x, (1, 2, 3)),
        lambda x: relay.collapse_sum_like(x, relay.var("y", shape=(2, 2))),
    ],
)
def test_shapes_that_do_not_stretch_are_refused(make: Any) -> None:
    with pytest.raises(DiagnosticError, match="does not stretch to"):
        typed(make(relay.var("x", shape=(2, 3))))


def test_calls_of_functions_without_parameters_are_of_relay() -> None:
    one = relay.GlobalVar("one")
    v = relay.Var("v")
    mod = tvm.IRModule({one: relay.Function([], relay.const(1.0))})
    bodies = [one(), relay.Tuple([one()]), relay.Let(v, one(), v), relay.exp(one()),
              relay.If(relay.const(True), one(), one())]  # fmt: skip
    for body in bodies:
        mod["main"] = relay.Function([], body)
        found = relay.transform.InferType()(mod)["main"].ret_type
        scalar = relay.TensorType(())
        assert found in (scalar, relay.TupleType([scalar]))


def test_a_renderer_sees_what_does_not_fit() -> None:
    from tvm.ir.diagnostics import override_renderer

    seen: list[str] = []
    override_renderer(lambda ctx: seen.extend(d.message for d in ctx.diagnostics))
    try:
        wrong = relay.nn.dense(relay.var("x", shape=(2, 3)), relay.var("w", shape=(2, 4)))
        with pytest.raises(DiagnosticError):
            typed(wrong)
    finally:
        override_renderer(None)
    assert "the weight does not fit the data" in seen[0]
    override_renderer(lambda ctx: seen.extend(d.message for d in ctx.diagnostics))
    try:
        with pytest.raises(DiagnosticError):
            relay.parse(HEAD + "def @main() { ")
    finally:
        override_renderer(None)
    assert len(seen) == 2


LIST = HEAD + "type List[A] { Cons(A, List[A]), Nil }\n"


def test_clauses_that_a_match_lacks() -> None:
    with pytest.raises(DiagnosticError, match=r"do not handle the following cases: .*Nil.*Cons"):
        relay.parse(LIST + "def @f(%x: List[int32]) { match (%x) { Cons(_, Nil) => 1 } }")
    partial = relay.parse(LIST + "def @f(%x: List[int32]) { match? (%x) { Cons(_, Nil) => 1 } }")
    relay.transform.InferType()(partial)


def test_type_arguments_that_are_too_many() -> None:
    a, one = relay.TypeVar("a"), relay.scalar_type("int32")
    x = relay.Var("x", a)
    same = relay.Function([x], x, a, [a])
    assert typed(relay.Call(same, [relay.const(1)], None, [one])).checked_type == one
    with pytest.raises(DiagnosticError, match="Incorrect number of type args"):
        typed(relay.Call(same, [relay.const(1)], None, [one, one]))
