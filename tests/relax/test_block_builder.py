"""BlockBuilder: functions step by step, names, blocks, scopes, equal functions shared."""

from __future__ import annotations

import pytest

from tvm import ir, relax, te, tir
from tvm.error import TVMError

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def var(name: str = "x", *shape: object, dtype: str = "float32") -> relax.Var:
    return relax.Var(name, relax.TensorStructInfo(shape or (N, 4), dtype))


def test_function_with_a_dataflow_block() -> None:
    x, y = var("x"), var("y")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, y], attrs={"num_input": 1}):
        with bb.dataflow():
            lv = bb.emit(relax.op.add(x, y))
            gv = bb.emit_output(relax.op.multiply(lv, y))
        bb.emit_func_output(gv)
    func = bb.get()["main"]
    (block,) = func.body.blocks
    assert isinstance(block, relax.DataflowBlock)
    assert [b.var.name_hint for b in block.bindings] == ["lv", "gv"]
    assert isinstance(block.bindings[0].var, relax.DataflowVar)
    assert not isinstance(block.bindings[1].var, relax.DataflowVar)
    assert dict(func.attrs.items()) == {"global_symbol": "main", "num_input": 1}
    assert func.ret_struct_info.values[0] is N


def test_blocks_in_order() -> None:
    x = var()
    bb = relax.BlockBuilder()
    with bb.function("f", [x], private=True):
        a = bb.emit(relax.op.exp(x))
        with bb.dataflow():
            b = bb.emit_output(relax.op.exp(a))
        c = bb.emit(relax.op.exp(b))
        bb.emit_func_output(c)
    func = bb.get()["f"]
    kinds = [type(block).__name__ for block in func.body.blocks]
    assert kinds == ["BindingBlock", "DataflowBlock", "BindingBlock"]
    assert len(func.attrs) == 0


def test_names_are_numbered() -> None:
    x = var()
    bb = relax.BlockBuilder()
    with bb.function("f", [x]):
        plain = [bb.emit(relax.op.exp(x)).name_hint for _ in range(3)]
        hinted = [bb.emit(relax.op.exp(x), name_hint="a.b").name_hint for _ in range(2)]
        with bb.dataflow():
            local = [bb.emit(relax.op.exp(x)).name_hint for _ in range(2)]
            bb.emit_output(x)
        bb.emit_func_output(x)
    assert plain == ["gv", "gv1", "gv2"]
    assert hinted == ["a_b", "a_b1"]
    assert local == ["lv", "lv1"]


def test_parameters_may_come_with_the_output() -> None:
    x = var()
    bb = relax.BlockBuilder()
    with bb.function("f"):
        y = bb.emit(relax.op.exp(x))
        bb.emit_func_output(y, params=[x])
    assert bb.get()["f"].params == (x,)


def test_tuples_of_python_are_taken() -> None:
    x = var()
    bb = relax.BlockBuilder()
    with bb.function("f", x):
        pair = bb.emit((x, relax.op.exp(x)))
        bb.emit_func_output([x, pair])
    func = bb.get()["f"]
    assert isinstance(func.ret_struct_info, relax.TupleStructInfo)
    assert isinstance(bb.lookup_binding(pair), relax.Tuple)
    assert bb.lookup_binding(x) is None


class TestRefusals:
    def test_function_without_output(self) -> None:
        scope = relax.BlockBuilder().function("f", [var()])
        scope.__enter__()
        with pytest.raises(RuntimeError, match="emit_func_output must be called in"):
            scope.__exit__(None, None, None)

    def test_output_given_twice(self) -> None:
        bb, x = relax.BlockBuilder(), var()
        with bb.function("f", [x]):
            bb.emit_func_output(x)
            with pytest.raises(RuntimeError, match="exactly once"):
                bb.emit_func_output(x)

    def test_output_outside_of_a_function(self) -> None:
        with pytest.raises(RuntimeError, match="in a relax function"):
            relax.BlockBuilder().emit_func_output(var())

    def test_output_within_a_dataflow_block(self) -> None:
        bb, x = relax.BlockBuilder(), var()
        with bb.function("f", [x]):
            with (
                pytest.raises(RuntimeError, match="stands outside of dataflow blocks"),
                bb.dataflow(),
            ):
                bb.emit_func_output(x)
            bb.emit_func_output(x)

    def test_what_is_no_expression(self) -> None:
        with pytest.raises(TypeError, match="a Relax expression is wanted; found int: 3"):
            relax.BlockBuilder().normalize(3)  # type: ignore[arg-type]

    def test_parameters_given_twice_or_never(self) -> None:
        x = var()
        bb = relax.BlockBuilder()
        with bb.function("f", [x]):
            with pytest.raises(RuntimeError, match="set already"):
                bb.emit_func_output(x, params=[x])
            bb.emit_func_output(x)
        with bb.function("g"):
            with pytest.raises(RuntimeError, match="must have parameter"):
                bb.emit_func_output(relax.const(1))
            bb.emit_func_output(x, params=[x])

    def test_parameters_that_are_no_variables(self) -> None:
        with pytest.raises(TypeError, match=r"tvm\.relax\.Var, but got: Constant"):
            relax.BlockBuilder().function("f", [relax.const(1)])

    def test_emit_without_a_block(self) -> None:
        with pytest.raises(TVMError, match="no block to emit into"):
            relax.BlockBuilder().emit(var())

    def test_emit_output_outside_of_dataflow(self) -> None:
        bb, x = relax.BlockBuilder(), var()
        with bb.function("f", [x]):
            with pytest.raises(TVMError, match="in a dataflow block"):
                bb.emit_output(x)
            bb.emit_func_output(x)

    def test_dataflow_variable_outside_of_dataflow(self) -> None:
        bb, x = relax.BlockBuilder(), var()
        bb.begin_binding_block()
        with pytest.raises(TVMError, match="is a DataflowVar"):
            bb.emit_normalized(relax.VarBinding(relax.DataflowVar("y", x.struct_info), x))

    def test_an_error_leaves_no_open_scope(self) -> None:
        bb, x = relax.BlockBuilder(), var()
        with pytest.raises(ZeroDivisionError), bb.function("f", [x]):
            raise ZeroDivisionError
        assert relax.BlockBuilder.current() is None
        with bb.function("f", [x]):
            assert relax.BlockBuilder.current() is bb
            bb.emit_func_output(x)


class TestMatchCast:
    def test_binds_new_symbols(self) -> None:
        m = tir.Var("m", "int64")
        x = relax.Var("x", relax.TensorStructInfo(None, "float32", ndim=2))
        bb = relax.BlockBuilder()
        with bb.function("f", [x]):
            y = bb.match_cast(x, relax.TensorStructInfo((m, m), "float32"))
            z = bb.emit(relax.op.exp(y))
            bb.emit_func_output(z)
        func = bb.get()["f"]
        assert z.struct_info.values[0] is m
        assert func.ret_struct_info.values is None  # m is not known to a caller
        assert isinstance(func.body.blocks[0].bindings[0], relax.MatchCast)

    def test_impossible_cast_is_refused(self) -> None:
        bb, x = relax.BlockBuilder(), var("x", 2, 3)
        with bb.testing_scope([]), pytest.raises(TVMError, match="can never have"):
            bb.match_cast(x, relax.TensorStructInfo((2, 4), "float32"))


class TestFunctionsOfTheModule:
    def kernel(self, extent: int | tir.Var = 4) -> tir.PrimFunc:
        a = te.placeholder((extent,), name="A")
        b = te.compute((extent,), lambda i: a[i] + 1.0, name="B")
        return te.create_prim_func([a, b])

    def test_equal_functions_are_one(self) -> None:
        bb = relax.BlockBuilder()
        first, again = bb.add_func(self.kernel(), "f"), bb.add_func(self.kernel(), "g")
        other = bb.add_func(self.kernel(5), "f")
        assert first is again
        assert other.name_hint == "f1"
        assert len(bb.get().functions) == 2

    def test_extents_tell_functions_apart_and_symbols_do_not(self) -> None:
        bb = relax.BlockBuilder()
        n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
        assert bb.add_func(self.kernel(n), "f") is bb.add_func(self.kernel(m), "g")
        kernel = self.kernel(7)
        first = bb.add_func(kernel, "f")
        assert bb.add_func(kernel, "g") is first
        assert bb.add_func(self.kernel(7), "g") is first

    def test_names_of_the_module_are_taken(self) -> None:
        mod = ir.IRModule({"f": self.kernel()})
        bb = relax.BlockBuilder(mod)
        assert bb.add_func(self.kernel(5), "f").name_hint == "f1"
        assert bb.add_func(self.kernel(), "g") is mod.get_global_var("f")

    def test_update_replaces(self) -> None:
        bb = relax.BlockBuilder()
        var_ = bb.add_func(self.kernel(), "f")
        bb.update_func(var_, self.kernel(5))
        assert bb.get()["f"].buffer_map[bb.get()["f"].params[0]].shape[0].value == 5
        assert bb.add_func(self.kernel(5), "g") is var_
        assert bb.add_func(self.kernel(), "g") is not var_

    def test_struct_info_of_a_kernel(self) -> None:
        bb = relax.BlockBuilder()
        info = bb.add_func(self.kernel(), "f").struct_info
        assert [p.values[0].value for p in info.params] == [4, 4]


def test_scopes_hide_symbols() -> None:
    m = tir.Var("m", "int64")
    bb = relax.BlockBuilder()
    info = relax.TensorStructInfo((m,), "float32")
    assert bb.erase(info) is info
    with bb.testing_scope([N]):
        assert bb.erase(info).values is None
        bb.begin_scope([relax.Var("", relax.ShapeStructInfo([m]))])
        assert bb.erase(info) is info
        bb.end_scope()


def test_finalize_gives_the_module() -> None:
    bb, x = relax.BlockBuilder(), var()
    with bb.function("f", [x]):
        bb.emit_func_output(x)
    assert bb.finalize()["f"] is bb.get()["f"]


def test_a_chain_of_20000_bindings() -> None:
    """Built, normalised, visited and rewritten without recursion over its length."""
    x = var("x", 2, 3)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = x
            for _ in range(20_000):
                y = bb.emit(relax.op.add(y, x))
            out = bb.emit_output(y)
        bb.emit_func_output(out)
    func = bb.get()["main"]
    assert len(func.body.blocks[0].bindings) == 20_001

    class Count(relax.PyExprVisitor):
        calls = 0

        def visit_call_(self, op: relax.Call) -> None:
            self.calls += 1

    count = Count()
    count.visit_expr(func)
    assert count.calls == 20_000
    assert relax.PyExprMutator(bb.get()).visit_expr(func) is func
    assert relax.analysis.well_formed(func)
    assert len(relax.analysis.udchain(func.body.blocks[0])) == 20_002


def test_a_nested_operand_is_bound_once_in_a_block() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    shared = relax.op.exp(x)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        first = bb.emit(relax.op.add(shared, shared))
        out = bb.emit(relax.op.multiply(shared, first))
        bb.emit_func_output(out)
    values = [binding.value for binding in bb.get()["main"].body.blocks[0].bindings]
    assert [value.op.name for value in values] == ["relax.exp", "relax.add", "relax.multiply"]


def test_finalize_gives_public_functions_their_names() -> None:
    bb = relax.BlockBuilder()
    with bb.function("func", [], private=True):
        private = bb.emit_func_output(relax.const(0, "int64"))
    with bb.function("func", []):
        bb.emit_func_output(bb.emit(relax.Call(private, [])))
    assert not relax.analysis.well_formed(bb.get())
    final = bb.finalize()
    assert relax.analysis.well_formed(final)
    assert final["func"].attrs["global_symbol"] == "func"
    assert len(final.functions) == 2


def test_a_function_within_another_waits_for_nobody() -> None:
    bb = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorStructInfo((4,), "float32")) for name in "xy")
    with bb.function("outer", [x]):
        a = bb.emit(relax.op.exp(x))
        with bb.function("inner", [y]):
            inner = bb.emit_func_output(bb.emit(relax.op.sin(y)))
        bb.emit_func_output(bb.emit(relax.Call(inner, [a])))
    mod = bb.get()
    assert sorted(var.name_hint for var in mod.get_global_vars()) == ["inner", "outer"]
    assert relax.analysis.well_formed(mod)
    forgotten = bb.function("forgotten", [y])
    with bb.function("other", [x]):
        forgotten.__enter__()
        with pytest.raises(RuntimeError, match="emit_func_output must be called"):
            forgotten.__exit__(None, None, None)
        bb.emit_func_output(x)


def test_arguments_of_other_kinds_are_named() -> None:
    bb = relax.BlockBuilder()
    with pytest.raises(TypeError, match="the argument `params` is of another kind"):
        bb.function("main", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the argument `params` is of another kind"):
        bb.begin_scope(3)  # type: ignore[arg-type]
