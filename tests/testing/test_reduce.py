"""Modules that show a fault, made small."""

from __future__ import annotations

import pytest

import tvm
from tests.testing.test_validate import read_further
from tvm.ir import IRModule
from tvm.ir.expr import RelaxExpr
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call as RelaxCall
from tvm.relax.expr import Function
from tvm.relax.expr_functor import PyExprMutator
from tvm.relax.transform import function_pass
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T
from tvm.testing.reduce import parts
from tvm.tir.expr import Call, FloatImm
from tvm.tir.functor import walk

pytestmark = pytest.mark.pure


@I.ir_module
class Kernels:
    @T.prim_func
    def other(a: T.Buffer((8,), "float32")):
        for i in range(8):
            a[i] = a[i] + T.float32(1)

    @T.prim_func
    def main(a: T.Buffer((16, 32), "float16"), b: T.Buffer((16, 32), "float16")):
        for i, j in T.grid(16, 32):
            with T.block("one"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = a[vi, vj] * T.float16(2)
        for i, j in T.grid(16, 32):
            with T.block("two"):
                vi, vj = T.axis.remap("SS", [i, j])
                if vi < 3:
                    b[vi, vj] = T.exp(b[vi, vj] + T.float16(3)) - T.float16(1)
        for i in range(16):
            b[i, 0] = T.float16(0)


def _has_exp(mod: IRModule) -> bool:
    return any(
        isinstance(node, Call) and getattr(node.op, "name", "") == "tir.exp"
        for func in mod.functions.values()
        for node in walk(func.body)  # type: ignore[attr-defined]
    )


def test_what_does_not_matter_goes() -> None:
    small = tvm.testing.reduce(Kernels, _has_exp)

    @T.prim_func
    def wanted(b: T.Buffer((1, 1), "float32")):
        b[0, 0] = T.exp(T.float32(0))

    assert [var.name_hint for var in small.get_global_vars()] == ["main"]
    found = small["main"].without_attr("global_symbol")
    tvm.ir.assert_structural_equal(found, wanted.without_attr("global_symbol"))


def test_the_same_each_time() -> None:
    assert structural_equal(
        tvm.testing.reduce(Kernels, _has_exp), tvm.testing.reduce(Kernels, _has_exp)
    )


def test_runs_are_bounded() -> None:
    asked = []

    def fails(mod: IRModule) -> bool:
        asked.append(mod)
        return _has_exp(mod)

    tvm.testing.reduce(Kernels, fails, max_runs=5)
    assert len(asked) == 6


def test_an_exception_in_the_question_is_another_fault() -> None:
    def fails(mod: IRModule) -> bool:
        if "other" not in mod:
            raise RuntimeError("something else")
        return _has_exp(mod)

    assert "other" in tvm.testing.reduce(Kernels, fails)


def test_a_module_without_the_fault() -> None:
    with pytest.raises(ValueError, match=r"fails\(mod\) is false for the module as it was given"):
        tvm.testing.reduce(Kernels, lambda mod: False)


def _wrong(wrong_pass: tvm.ir.transform.Pass, mod: IRModule) -> bool:
    try:
        with PassContext(instruments=[tvm.instrument.Validate()]):
            wrong_pass(mod)
    except tvm.testing.ValidationError:
        return True
    return False


def test_with_validate_a_wrong_tir_pass_and_its_smallest_program() -> None:
    mod = IRModule.from_expr(Kernels["other"].with_attr("global_symbol", "main"))
    small = tvm.testing.reduce(mod, lambda m: _wrong(read_further, m))

    @T.prim_func
    def wanted(a: T.Buffer((1,), "float32")):
        a[0] = a[0]

    tvm.ir.assert_structural_equal(small["main"], wanted.with_attr("global_symbol", "main"))


@I.ir_module
class Graph:
    @R.function
    def main(
        x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 8), "float32"), c: R.Tensor((), "bool")
    ):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.add(a, a)
            d = R.exp(b)
            e = R.nn.relu(d)
            f = R.nn.relu(R.negative(e))
            g = R.multiply(f, a)
            R.output(g)
        if c:
            y = R.add(g, g)
        else:
            y = R.subtract(g, g)
        return y


@I.ir_module
class Larger:
    @R.function
    def main(x: R.Tensor((4, 4), "float32"), w: R.Tensor((4, 4), "float32")):
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.exp(a)
            e = R.nn.relu(b)
            f = R.negative(R.nn.relu(R.negative(e)))
            R.output(f)
        return f


def _calls(mod: IRModule, name: str) -> bool:
    return name in mod.script()


def test_a_graph_keeps_the_call_that_matters() -> None:
    small = tvm.testing.reduce(Graph, lambda m: _calls(m, "R.nn.relu"))

    @R.function
    def wanted(x: R.Tensor((1, 1), "float32")):
        with R.dataflow():
            e = R.nn.relu(x)
            R.output(e)
        return e

    found = small["main"].without_attr("global_symbol")
    assert found.script().count("R.nn.relu") == 1
    assert "R.add" not in found.script()
    assert "R.exp" not in found.script()
    assert len(found.params) == len(wanted.params)
    assert found.params[0].struct_info.shape.values[0] == 1


def test_a_branch_of_a_graph() -> None:
    small = tvm.testing.reduce(Graph, lambda m: _calls(m, "R.subtract"))
    text = small.script()
    assert "if " not in text
    assert text.count("R.") < 12


class _NoRelu(PyExprMutator):
    def visit_call_(self, op: RelaxCall) -> RelaxExpr:
        relu = op.op.same_as(tvm.ir.Op.get("relax.nn.relu"))
        return self.visit_expr(op.args[0]) if relu else super().visit_call_(op)


@function_pass(opt_level=0, name="relax.NoRelu")
def no_relu(func: Function, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    return _NoRelu().visit_expr(func)


def test_with_validate_a_wrong_graph_pass() -> None:
    small = tvm.testing.reduce(Larger, lambda m: _wrong(no_relu, m))
    assert small.script().count("R.nn.relu") == 1
    assert "R.exp" not in small.script()


def test_parts() -> None:
    taken = [list(range(5))[part] for part in parts(5)]
    assert taken == [[0, 1, 2, 3, 4], [0, 1], [2, 3], [4], [0], [1], [2], [3], [4]]
    assert list(parts(0)) == []


def test_constants_become_plain_ones() -> None:
    small = tvm.testing.reduce(
        Kernels, lambda m: any(isinstance(n, FloatImm) for n in walk(m["main"].body))
    )
    assert "T.float32" in small.script()
