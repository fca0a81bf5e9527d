from __future__ import annotations

import pytest

import tvm
from tvm.driver.found_by_name import FUNCTIONS, resolve
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_name_leads_to_a_function(name: str) -> None:
    assert callable(resolve(FUNCTIONS[name]))


def test_a_pass_is_found_and_runs() -> None:
    @T.prim_func(private=True)
    def before(A: T.Buffer((4,), "int32")):
        A[T.int32(1) + 1] = 3 * 4

    @T.prim_func(private=True)
    def after(A: T.Buffer((4,), "int32")):
        A[2] = 12

    mod = tvm.get_global_func("tir.transform.Simplify")()(tvm.IRModule.from_expr(before))
    tvm.ir.assert_structural_equal(mod["main"], after)


def test_doors_of_packages() -> None:
    x, y = tvm.tir.Var("x", "int32"), tvm.tir.Var("y", "int32")
    assert tvm.tir.analysis._ffi_api.expr_deep_equal(x + y, x + y)
    assert tvm.arith._ffi_api.PosInf().name == "pos_inf"
    assert tvm.tir._ffi_api.Substitute(x + y, {x: y}).a.same_as(y)
    assert callable(tvm.tir.transform._ffi_api.LowerOpaqueBlock)
    assert callable(tvm.tir.schedule._ffi_api.HasBlock)
    with pytest.raises(AttributeError, match=r"script\.NoSuchName"):
        tvm.script._ffi_api.NoSuchName


def test_operators_and_constructors() -> None:
    find, x = tvm.get_global_func, tvm.tir.Var("x", "int32")
    assert str(find("tir._OpAdd")(x, 1)) == "x + 1"
    assert find("tir._OpAdd")(tvm.tir.const(127, "int8"), tvm.tir.const(1, "int8")).value == -128
    assert isinstance(find("tir.Add")(x, x), tvm.tir.Add)
    assert find("ir.IntImm")("int8", 3).dtype == "int8"
    assert str(tvm.tir._ffi_api._OpIfThenElse(x < 1, x, 0)) == "T.if_then_else(x < 1, x, 0)"
    assert str(tvm.arith._ffi_api.intset_single_point(x)) == "IntervalSet[x, x]"
    assert tvm.te._ffi_api.Placeholder([3, 4], "float32", "A").op.name == "A"


def test_methods_and_properties() -> None:
    op = tvm.ir._ffi_api.GetOp("tir.exp")
    assert tvm.ir._ffi_api.OpGetAttr(op, "TScriptPrinterName") == "exp"
    func = tvm.tir.PrimFunc([], tvm.tir.Evaluate(1)).with_attr("global_symbol", "f")
    mod = tvm.ir._ffi_api.Module_FromExpr(func)
    assert tvm.ir._ffi_api.Module_Lookup_str(mod, "f").same_as(mod["f"])
    simplify = tvm.tir.transform.Simplify()
    assert tvm.ir._ffi_transform_api.Info(simplify).name == "tir.Simplify"
    both = tvm.ir._ffi_transform_api.Sequential([simplify, simplify], 2, "both", [], False)
    assert tvm.ir._ffi_transform_api.RunPass(both, mod)["f"].body.value == 1
    target = tvm.get_global_func("target.Target")("c")
    assert tvm.get_global_func("target.TargetExport")(target)["kind"] == "c"
    text = tvm.get_global_func("node.SaveJSON")(func.body)
    tvm.ir.assert_structural_equal(tvm.get_global_func("node.LoadJSON")(text), func.body)


def test_a_schedule_by_names() -> None:
    @T.prim_func(private=True)
    def double(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")):
        for i, j in T.grid(8, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    api = tvm.tir.schedule._ffi_api
    sch = api.TracedSchedule(tvm.IRModule({"main": double}), -1, 0, 0, True)
    block = api.ScheduleGetBlock(sch, "B", "main")
    i, j = api.ScheduleGetLoops(sch, block)
    api.ScheduleReorder(sch, [j, i])
    api.ScheduleFuse(sch, [j, i], True)
    api.ScheduleTransformLayout(
        sch, block, 0, 1, tvm.tir.IndexMap.from_func(lambda i, j: [j, i]), None, False
    )
    assert api.ScheduleGetMod(sch)["main"].buffer_map[double.params[1]].shape == (4, 8)
    text = api.TraceAsPython(api.ScheduleGetTrace(sch), False)
    assert [line.split("(")[0].split("=")[-1].strip() for line in text] == [
        "sch.get_block", "sch.get_loops", "sch.reorder", "sch.fuse", "sch.transform_layout",
    ]  # fmt: skip


def test_a_function_built_by_names() -> None:
    find = tvm.get_global_func
    builder = find("script.ir_builder.IRBuilder")()
    find("script.ir_builder.IRBuilderEnter")(builder)
    frame = find("script.ir_builder.tir.PrimFunc")(False)
    find("script.ir_builder.IRBuilderFrameEnter")(frame)
    find("script.ir_builder.tir.FuncName")("main")
    find("script.ir_builder.tir.Evaluate")(find("script.ir_builder.tir.Int64")(3))
    find("script.ir_builder.IRBuilderFrameExit")(frame, None, None, None)
    find("script.ir_builder.IRBuilderExit")(builder, None, None, None)
    func = find("script.ir_builder.IRBuilderGet")(builder)
    assert func.attrs["global_symbol"] == "main"
    assert func.body.value.dtype == "int64"
