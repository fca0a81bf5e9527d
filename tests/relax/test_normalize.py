"""Normal form: nested operands bound, sequences flattened, struct info filled."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.error import TVMError
from tvm.ir import IRModule, Op, assert_structural_equal, register_op_attr
from tvm.ir.op import OPS
from tvm.ir.transform import Pass
from tvm.relax import op
from tvm.relax.testing.transform import ApplyEmptyCppMutator
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure

X = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))


def emit(expr: object) -> tuple[relax.Function, relax.BlockBuilder]:
    bb = relax.BlockBuilder()
    with bb.function("f", [X]):
        bb.emit_func_output(expr)
    return bb.get()["f"], bb


def values(func: relax.Function) -> list[relax.Expr]:
    return [b.value for block in func.body.blocks for b in block.bindings]


def test_variables_of_the_empty_tuple_are_that_tuple() -> None:
    nothing = relax.Var("nothing", relax.TupleStructInfo([]))
    bb = relax.BlockBuilder()
    with bb.function("f", [X, nothing]):
        again = bb.emit(nothing)
        pair = bb.emit(relax.Tuple([again, X]))
        bb.emit(op.call_pure_packed("g", pair, relax.Tuple([X, nothing]), sinfo_args=R.Tuple([])))
        bb.emit_func_output(again)
    func = bb.get()["f"]
    same, fields, call = values(func)
    for one in (same, fields.fields[0], call.args[2].fields[1], func.body.body):
        assert isinstance(one, relax.Tuple)
        assert not one.fields
    assert bb.normalize(nothing) is nothing  # outside of blocks there is nothing to rewrite


def test_nested_operands_are_bound_innermost_first() -> None:
    func, _ = emit(op.add(op.multiply(X, X), op.exp(X)))
    names = [value.op.name for value in values(func)]
    assert names == ["relax.multiply", "relax.exp", "relax.add"]
    assert all(isinstance(a, relax.Var) for value in values(func) for a in value.args)


def test_shared_sequence_is_bound_once() -> None:
    """The value of two variables is one sequence."""
    inner, a, b = (relax.Var(name, X.struct_info) for name in ("inner", "a", "b"))
    block = relax.BindingBlock([relax.VarBinding(inner, op.exp(X))])
    seq = relax.SeqExpr([block], inner)
    both = relax.BindingBlock([relax.VarBinding(a, seq), relax.VarBinding(b, seq)])
    func = relax.Function([X], relax.SeqExpr([both], op.add(a, b)), X.struct_info)
    mod = relax.transform.Normalize()(IRModule({"main": func}))
    names = [b.var for block in mod["main"].body.blocks for b in block.bindings]
    assert names[:3] == [inner, a, b]
    assert len(names) == len(set(names)) == 4
    assert relax.analysis.well_formed(mod)


def test_shared_operand_is_bound_once() -> None:
    shared = op.exp(X)
    func, _ = emit(op.add(shared, shared))
    assert len(values(func)) == 2


def test_a_nest_of_5000_calls() -> None:
    expr = X
    for _ in range(5000):
        expr = op.add(expr, X)
    func, _ = emit(expr)
    assert len(values(func)) == 5000


def test_outside_of_a_block_only_struct_info_is_filled() -> None:
    call = op.add(op.exp(X), X)
    found = relax.BlockBuilder().normalize(call)
    assert found is call
    assert call.args[0].struct_info.values[1].value == 3


def test_tuples_of_leaves_stay_and_items_get_struct_info() -> None:
    func, _ = emit(relax.TupleGetItem(relax.Tuple([X, op.exp(X)]), 1))
    last = values(func)[-1]
    assert isinstance(last, relax.TupleGetItem)
    assert isinstance(last.tuple_value, relax.Tuple)
    assert isinstance(last.tuple_value.fields[1], relax.Var)


def test_sequence_in_a_binding_becomes_part_of_its_block() -> None:
    y, z = (relax.Var(name, X.struct_info) for name in "yz")
    inner = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, op.exp(X))])], y)
    outer = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(z, inner)])], z)
    func = relax.BlockBuilder().normalize(relax.Function([X], outer, X.struct_info))
    (block,) = func.body.blocks
    assert [b.var.name_hint for b in block.bindings] == ["y", "z"]


def test_neighbouring_blocks_of_one_kind_are_merged_and_empty_ones_dropped() -> None:
    y, z = (relax.Var(name, X.struct_info) for name in "yz")
    blocks = [
        relax.BindingBlock([relax.VarBinding(y, op.exp(X))]),
        relax.BindingBlock([]),
        relax.BindingBlock([relax.VarBinding(z, op.exp(y))]),
    ]
    func = relax.BlockBuilder().normalize(
        relax.Function([X], relax.SeqExpr(blocks, z), X.struct_info)
    )
    assert len(func.body.blocks) == 1


def test_branches_get_what_they_have_in_common() -> None:
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    long, short = op.concat([X, X]), X
    bb = relax.BlockBuilder()
    with bb.function("f", [X, cond]):
        result = bb.emit(relax.If(cond, long, short))
        bb.emit_func_output(result)
    assert result.struct_info.values is None
    assert result.struct_info.ndim == 2
    branch = bb.lookup_binding(result)
    assert isinstance(branch, relax.If)
    assert len(branch.true_branch.blocks[0].bindings) == 1


def test_conditions_are_looked_at_as_the_program_runs() -> None:
    made = relax.BlockBuilder().normalize(relax.If(X, X, X))
    assert_structural_equal(made.struct_info, X.struct_info)


def test_what_is_normal_stays_the_same_object() -> None:
    func, bb = emit(op.add(op.exp(X), X))
    assert bb.normalize(func) is func


def test_variable_without_struct_info_is_named() -> None:
    with pytest.raises(TVMError, match="'y' has no struct info"):
        relax.BlockBuilder().normalize(op.exp(relax.Var("y")))


def test_item_of_something_else_is_refused() -> None:
    with pytest.raises(TVMError, match="takes an item of a tuple"):
        relax.BlockBuilder().normalize(relax.TupleGetItem(X, 0))


def test_local_function_may_call_itself() -> None:
    n = relax.Var("n", relax.TensorStructInfo((), "int64"))
    info = relax.FuncStructInfo([n.struct_info], n.struct_info)
    loop = relax.Var("loop", info)
    y = relax.Var("y")
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(y, relax.Call(loop, [n]))])], y)
    local = relax.Function([n], body, n.struct_info)
    outer_n = relax.Var("n", n.struct_info)
    out = relax.Var("out")
    seq = relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(loop, local),
                             relax.VarBinding(out, relax.Call(loop, [outer_n]))])],
        out,
    )  # fmt: skip
    func = relax.BlockBuilder().normalize(relax.Function([outer_n], seq, n.struct_info))
    assert func.body.blocks[0].bindings[1].var.struct_info.dtype == "int64"


def test_span_of_what_is_rebuilt() -> None:
    from tvm.ir import Span

    span = Span("model.onnx", 1, 1, 1, 5)
    call = relax.Call(op.add.op, [op.exp(X), X], span=span)
    func, _ = emit(call)
    binding = func.body.blocks[0].bindings[-1]
    assert binding.value.span is span
    assert binding.span is span


def test_what_a_dataflow_block_hides_does_not_come_out() -> None:
    one = relax.TensorStructInfo((), "int64")
    hidden = relax.DataflowVar("d", one)
    block = relax.DataflowBlock([relax.VarBinding(hidden, relax.const(1, "int64"))])
    bb = relax.BlockBuilder()
    told = r"Malformed AST(.|\n)*DataflowVar 'd'"
    with pytest.raises(TVMError, match=told), bb.function("f", []):
        bb.emit_func_output(bb.emit(relax.SeqExpr([block], hidden)))


class TestFormsOfOperators:
    """Parsers keep what is written; builders, mutators and Normalize bring it into its form."""

    @I.ir_module(check_well_formed=False)
    class Written:
        @T.prim_func(private=True)
        def add(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32"),
                c: T.Buffer((4,), "float32")):
            for i in range(4):
                with T.block("add"):
                    v = T.axis.spatial(4, i)
                    c[v] = a[v] + b[v]

        @R.function
        def of_parameter(
            args: R.Tuple(R.Tensor((4,), "float32"), R.Tensor((4,), "float32"))
        ) -> R.Tensor((4,), "float32"):
            out = R.call_tir(Written.add, args, out_sinfo=R.Tensor((4,), "float32"))
            return out

        @R.function
        def of_binding(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            args = (x, x)
            out = R.call_tir(Written.add, args, out_sinfo=R.Tensor((4,), "float32"))
            return out

    def operands(self, mod: IRModule, name: str) -> relax.Expr:
        return values(mod[name])[-1].args[1]

    def test_parsers_wait(self) -> None:
        for name in ("of_parameter", "of_binding"):
            assert isinstance(self.operands(self.Written, name), relax.Var)
        assert not relax.analysis.well_formed(self.Written)

    @pytest.mark.parametrize("run", [ApplyEmptyCppMutator(), relax.transform.Normalize()])
    def test_passes_bring_calls_into_form(self, run: Pass) -> None:
        after = run(self.Written)
        assert relax.analysis.well_formed(after)
        x = after["of_binding"].params[0]
        assert all(field is x for field in self.operands(after, "of_binding").fields)
        items = [v for v in values(after["of_parameter"]) if isinstance(v, relax.TupleGetItem)]
        assert [item.index for item in items] == [0, 1]

    def test_rules_of_users(self) -> None:
        def first_is_constant(bb: relax.BlockBuilder, call: relax.Call) -> relax.Expr:
            if isinstance(call.args[0], relax.Constant):
                return call
            return relax.Call(call.op, [relax.const(1.0, "float32")])

        name = "tests.normalize.constant"
        register_op_attr(name, "FNormalize", first_is_constant)
        register_op_attr(name, "FInferStructInfo", lambda call, bb: X.struct_info)
        try:
            call = relax.Call(Op.get(name), [X])
            assert isinstance(relax.BlockBuilder().normalize(call).args[0], relax.Constant)
            assert call.args[0] is X
        finally:
            OPS.remove(name)
