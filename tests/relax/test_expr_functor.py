"""Visitor and mutator: order, overriding, replacing, renaming, normal form of results."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tvm import relax, tir
from tvm.ir import Op
from tvm.relax import op
from tvm.relax.expr_functor import ExprFunctor, PyExprVisitor, mutator, visitor

pytestmark = pytest.mark.pure


def var(name: str = "x", *shape: object) -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape or (2, 3), "float32"))


def module(dataflow: bool = True) -> tuple[relax.Function, relax.Var]:
    x = var()
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        if dataflow:
            with bb.dataflow():
                a = bb.emit(op.add(x, x))
                out = bb.emit_output(op.multiply(a, relax.const(2.0)))
        else:
            a = bb.emit(op.add(x, x))
            out = bb.emit(op.multiply(a, relax.const(2.0)))
        bb.emit_func_output(out)
    return bb.get()["main"], x


def names(func: relax.Function) -> list[str]:
    return [b.value.op.name for block in func.body.blocks for b in block.bindings]


def test_functor_without_a_rule_says_so() -> None:
    with pytest.raises(TypeError, match="Mine has no rule for Var"):
        type("Mine", (ExprFunctor,), {})().visit_expr(var())


def test_visitor_meets_everything_in_order() -> None:
    @visitor
    class Names(relax.PyExprVisitor):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def visit_op_(self, op: Op) -> None:
            self.seen.append(op.name)

        def visit_var_def_(self, var: relax.Var) -> None:
            self.seen.append(f"def {var.name_hint}")

        def visit_dataflow_var_def_(self, var: relax.DataflowVar) -> None:
            self.seen.append(f"def local {var.name_hint}")

        def visit_constant_(self, op: relax.Constant) -> None:
            self.seen.append("const")

        def visit_dataflow_block_(self, block: relax.DataflowBlock) -> None:
            self.seen.append("block")
            super().visit_dataflow_block_(block)

    walk = Names()
    walk.visit_expr(module()[0])
    assert walk.seen == ["def x", "block", "relax.add", "def local lv", "relax.multiply", "const",
                         "def gv"]  # fmt: skip


def test_visitor_enters_leaves_and_struct_infos() -> None:
    n = tir.Var("n", "int64")

    class Numbers(relax.PyExprVisitor):
        def __init__(self) -> None:
            self.seen: list[object] = []

        def visit_prim_expr(self, expr: tir.PrimExpr) -> None:
            self.seen.append(expr)

    walk = Numbers()
    info = relax.TupleStructInfo(
        [relax.ShapeStructInfo([n]), relax.PrimStructInfo(value=n), var("x", n).struct_info]
    )
    call = relax.Call(relax.extern("f"), [relax.ShapeExpr([n]), relax.PrimValue(n)],
                      sinfo_args=[info])  # fmt: skip
    walk.visit_expr(call)
    assert walk.seen == [n] * 5


def test_mutator_keeps_what_it_does_not_change() -> None:
    func, _ = module()
    assert relax.PyExprMutator().visit_expr(func) is func


def test_mutator_replaces_calls() -> None:
    @mutator
    class Subtract(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if call.op.name == "relax.add":
                return op.subtract(*call.args)
            return call

    func, _ = module()
    new = Subtract().visit_expr(func)
    assert names(new) == ["relax.subtract", "relax.multiply"]
    assert new.body.blocks[0].bindings[0].var.name_hint == "lv"
    assert names(func) == ["relax.add", "relax.multiply"]


def test_mutator_emits_before_the_binding() -> None:
    class Spread(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            if call.op.name == "relax.add":
                return op.multiply(self.builder_.emit(op.exp(call.args[0])), call.args[1])
            return call

    assert names(Spread().visit_expr(module()[0])) == ["relax.exp", "relax.multiply",
                                                       "relax.multiply"]  # fmt: skip


def test_nested_result_is_normalised() -> None:
    class Nest(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            return op.exp(super().visit_call_(call)) if call.op.name == "relax.add" else call

    assert names(Nest().visit_expr(module()[0])) == ["relax.add", "relax.exp", "relax.multiply"]


def test_changed_struct_info_goes_down_the_function() -> None:
    class Flatten(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = super().visit_call_(call)
            return op.flatten(call) if call.op.name == "relax.add" else call

    new = Flatten().visit_expr(module()[0])
    assert new.ret_struct_info.values[0].value == 6
    old_vid = module()[0].body.blocks[0].bindings[0].var.vid
    assert new.body.blocks[0].bindings[-1].var.vid is not old_vid


def test_variables_are_replaced_by_remap() -> None:
    func, x = module()
    y = relax.Var("y", x.struct_info)

    class Rename(relax.PyExprMutator):
        def visit_function_(self, op: relax.Function) -> relax.Expr:
            self.set_var_remap(x.vid, y)
            assert self.get_var_remap(x.vid) is y
            body = self.visit_with_new_scope(op.body, [y])
            return relax.Function([y], body)

    new = Rename().visit_expr(func)
    assert new.body.blocks[0].bindings[0].value.args == (y, y)


def test_parameters_with_other_struct_info() -> None:
    n = tir.Var("n", "int64")
    x = var("x", n, 3)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(op.exp(x)))

    class Four(relax.PyExprMutator):
        def visit_prim_expr(self, expr: tir.PrimExpr) -> tir.PrimExpr:
            return tir.const(4, "int64") if expr is n else expr

    new = Four().visit_expr(bb.get()["main"])
    assert new.params[0].struct_info.values[0].value == 4
    assert new.ret_struct_info.values[0].value == 4


def test_lookup_and_with_struct_info() -> None:
    func, x = module()
    rule = relax.PyExprMutator()
    rule.visit_expr(func)
    first = func.body.blocks[0].bindings[0]
    assert rule.lookup_binding(first.var) is first.value
    assert rule.with_struct_info(x, x.struct_info) is x
    other = rule.with_struct_info(x, relax.ObjectStructInfo())
    assert other.vid is x.vid
    assert other is not x


def test_branches_are_rewritten_in_scopes_of_their_own() -> None:
    x = var()
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x, cond]):
        bb.emit_func_output(bb.emit(relax.If(cond, op.add(x, x), op.exp(x))))

    class Negate(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            return op.negative(call.args[0]) if call.op.name == "relax.exp" else call

    new = Negate().visit_expr(bb.get()["main"])
    branch = new.body.blocks[0].bindings[0].value
    assert branch.true_branch is bb.get()["main"].body.blocks[0].bindings[0].value.true_branch
    assert branch.false_branch.blocks[0].bindings[0].value.op.name == "relax.negative"


def test_casts_are_rewritten() -> None:
    x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=1))
    m = tir.Var("m", "int64")
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        y = bb.match_cast(op.exp(x), relax.TensorStructInfo((m,), "float32"))
        bb.emit_func_output(bb.emit(op.exp(y)))

    class Sine(relax.PyExprMutator):
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            return op.sin(super().visit_call_(call).args[0])

    new = Sine().visit_expr(bb.get()["main"])
    kinds = [type(b).__name__ for b in new.body.blocks[0].bindings]
    assert kinds == ["VarBinding", "MatchCast", "VarBinding"]
    assert new.body.blocks[0].bindings[2].var.struct_info.values[0] is m


def test_defaults_do_not_come_back_to_the_subclass() -> None:
    seen: list[str] = []

    class Log(relax.PyExprMutator):
        def visit_var_(self, op):
            seen.append(f"var {op.name_hint}")
            return self.visit_expr_post_order(op)

        def visit_dataflow_var_(self, op):
            seen.append(f"dataflow {op.name_hint}")
            return self.visit_expr_post_order(op)

        def visit_op_(self, op):
            seen.append(op.name)
            return op

        def visit_shape_expr_(self, op):
            seen.append("shape")
            return self.visit_expr_post_order(op)

        def visit_call_(self, op):
            new = self.visit_expr_post_order(op)
            seen.append("call")
            return new

    info = relax.TensorStructInfo((4,), "float32")
    Log().visit_expr(relax.DataflowVar("d", info))
    assert seen == ["dataflow d"]
    seen.clear()
    x = relax.Var("x", info)
    call = relax.BlockBuilder().normalize(relax.op.add(x, x))
    assert Log().visit_expr(call) is call
    assert seen == ["relax.add", "var x", "var x", "shape", "call"]


def test_a_visitor_sees_the_shapes_of_what_it_visits() -> None:
    seen: list[str] = []

    @relax.expr_functor.visitor
    class Log(relax.PyExprVisitor):
        def visit_call_(self, op):
            super().visit_call_(op)
            seen.append("call")

        def visit_var_(self, op):
            seen.append(op.name_hint)

        def visit_shape_expr_(self, op):
            seen.append("shape")

    x = relax.Var("x", relax.TensorStructInfo((2,), "float32"))
    s = relax.Var("s", relax.ShapeStructInfo(ndim=1))
    y = relax.Var("y", relax.TensorStructInfo(s, "float32"))
    bb = relax.BlockBuilder()
    for operand, wanted in ((x, ["x", "shape", "call"]), (y, ["y", "s", "call"])):
        seen.clear()
        call = bb.normalize(relax.op.exp(operand))
        Log().visit_expr(call)
        assert seen == wanted
        assert [v.name_hint for v in relax.analysis.all_vars(call)] == [
            name for name in wanted if len(name) == 1
        ]


def test_rules_for_variables_are_apart() -> None:
    info = relax.TensorStructInfo((4,), "float32")
    x = relax.Var("x", info)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            d = bb.emit(relax.op.exp(x), "d")
            gv = bb.emit_output(relax.op.negative(d), "gv")
        bb.emit_func_output(gv)
    func = bb.get()["main"]

    def met(base: type, *rules: str) -> list[str]:
        seen: list[str] = []

        def rule(self: object, op: relax.Var) -> relax.Var:
            seen.append(op.name_hint)
            return op

        type("Log", (base,), dict.fromkeys(rules, rule))().visit_expr(func)
        return seen

    for base in (relax.PyExprVisitor, relax.PyExprMutator):
        assert met(base, "visit_var_") == ["x", "gv"]
        assert met(base, "visit_dataflow_var_") == ["d"]
        assert met(base, "visit_var_", "visit_dataflow_var_") == ["x", "d", "gv"]
        assert met(base, "visit_var_def_") == ["x", "d", "gv"]
        assert met(base, "visit_dataflow_var_def_") == ["d"]


def test_the_shape_of_a_constant_is_not_visited() -> None:
    seen: list[str] = []
    value = relax.op.add(relax.const([1.0, 2.0]), relax.const(1.0))
    relax.analysis.post_order_visit(
        relax.BlockBuilder().normalize(value), lambda e: seen.append(type(e).__name__)
    )
    assert seen == ["Op", "Constant", "Constant", "ShapeExpr", "Call"]


def test_every_expression_has_a_span_even_if_it_is_none() -> None:
    class Spans(PyExprVisitor):
        def __init__(self) -> None:
            self.seen: list[object] = []

        def visit_span(self, span: object) -> None:
            self.seen.append(span)

    spans = Spans()
    spans.visit_expr(relax.Tuple([relax.StringImm("a"), relax.StringImm("b")]))
    assert spans.seen == [None, None, None]
    with pytest.raises(TypeError, match="legal: RelaxExpr"):
        spans.visit_expr(3)


@pytest.mark.parametrize("mark", [visitor, mutator])
def test_what_is_no_functor_is_not_marked(mark: Callable[[type], type]) -> None:
    with pytest.raises(AssertionError, match="user-facing method overriding class"):
        mark(int)
