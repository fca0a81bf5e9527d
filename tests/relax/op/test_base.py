"""Calls of functions, closures, shapes, devices."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import ir, relax, tir
from tvm.error import TVMError
from tvm.ir import Op, VDevice
from tvm.relax import op
from tvm.relax.analysis.call_tir_fits import inplace_faults

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")
OUT = relax.TensorStructInfo((N, 4), "float32")


def test_call_tir_operands() -> None:
    f = relax.GlobalVar("f")
    call = relax.call_tir(f, [var(2), var(3)], OUT, tir_vars=[N])
    assert call.args[0] is f
    assert len(call.args[1].fields) == 2
    assert call.args[2].values == (N,)
    assert info(call) is OUT
    single = relax.call_tir(f, var(2), [OUT, OUT])
    assert len(single.args[1].fields) == 1
    assert isinstance(info(single), relax.TupleStructInfo)


def test_results_need_a_known_shape() -> None:
    with pytest.raises(TVMError, match="out_sinfo must have a shape of known expressions"):
        relax.call_tir(relax.GlobalVar("f"), [], relax.TensorStructInfo(None, "float32", ndim=2))


def test_variable_of_operands_is_taken_apart() -> None:
    pair = relax.Var("p", relax.TupleStructInfo([OUT, OUT]))
    bb = relax.BlockBuilder()
    with bb.function("main", [pair]):
        out = bb.emit(relax.call_tir(relax.GlobalVar("f"), pair, OUT))
        bb.emit_func_output(out)
    call = bb.lookup_binding(out)
    assert isinstance(call.args[1], relax.Tuple)
    assert len(call.args[1].fields) == 2


@pytest.mark.parametrize("indices", [[0, 1], [-1], [2], [], [0, 0]])
def test_inplace_indices_are_checked(indices: list[int]) -> None:
    with pytest.raises(TVMError, match="inplace_indices do not fit"):
        relax.call_tir_inplace(relax.GlobalVar("f"), [var(2), var(3)], indices, OUT)


def test_inplace_index_is_kept() -> None:
    target = relax.Var("y", OUT)
    call = relax.call_tir_inplace(relax.GlobalVar("f"), [var(2), target], 1, OUT)
    assert call.attrs.inplace_indices == (1,)
    assert ir.structural_equal(ir.load_json(ir.save_json(call.attrs)), call.attrs)


def test_packed_calls() -> None:
    x = var(2)
    assert info(relax.call_dps_packed("f", x, OUT)) is OUT
    assert info(relax.call_pure_packed("f", x, sinfo_args=OUT)) is OUT
    y = relax.Var("y", OUT)
    assert info(op.call_inplace_packed("f", y, inplace_indices=0, sinfo_args=[OUT])) is OUT
    assert info(op.call_py_func(relax.StringImm("f"), [x], OUT)) is OUT
    with pytest.raises(TypeError, match=r"Mismatched type, Expected relax\.StringImm"):
        op.call_py_func("f", [x], OUT)
    assert isinstance(info(op.call_builtin_with_ctx("f", [x])), relax.ObjectStructInfo)
    assert isinstance(relax.call_dps_packed("f", x, OUT).args[0], relax.ExternFunc)


def test_closures() -> None:
    clo = op.make_closure(relax.GlobalVar("f"), [var(2)])
    assert isinstance(info(clo), relax.ObjectStructInfo)
    assert info(op.invoke_pure_closure(clo, [var(2)], OUT)) is OUT
    assert Op.get("relax.invoke_closure").get_attr("FPurity") is False


def test_shapes_of_tensors_and_back() -> None:
    assert info(op.shape_of(var(N, 4))).values[0] is N
    assert info(op.shape_of(var(ndim=3))).ndim == 3
    assert shape_of(op.shape_to_tensor(relax.ShapeExpr([N, 4]))) == (2,)
    assert info(op.tensor_to_shape(var(3, dtype="int64"))).ndim == 3
    with pytest.raises(TVMError, match="must be int64"):
        info(op.tensor_to_shape(var(3)))
    with pytest.raises(TVMError, match="must have one dimension"):
        info(op.tensor_to_shape(var(3, 3, dtype="int64")))


def test_assertions_take_one_bool() -> None:
    cond = relax.Var("c", relax.TensorStructInfo((), "bool"))
    call = op.assert_op(cond, [var(2)], "x is {}")
    assert isinstance(info(call), relax.TupleStructInfo)
    assert isinstance(call.args[1], relax.StringImm)
    with pytest.raises(TVMError, match="the condition must be one bool"):
        info(op.assert_op(var(2)))


def test_moving_to_another_device() -> None:
    here, there = VDevice("llvm", 0), VDevice("llvm", 1)
    x = relax.Var("x", relax.TensorStructInfo((2,), "float32", here))
    assert info(op.to_vdevice(x, there)).vdevice is there


def test_hint_keeps_the_tensor() -> None:
    class Device:
        device_type, index = 2, 1

    call = op.hint_on_device(var(2), Device())
    assert (call.attrs.device_type, call.attrs.index) == (2, 1)
    assert shape_of(call) == (2,)


def test_gradients_can_be_registered() -> None:
    @op.register_gradient("relax.ccl.allreduce")
    def gradient(orig_var: object, call: object, grad: object, ctx: object) -> list[object]:
        return [grad]

    assert Op.get("relax.ccl.allreduce").get_attr("FPrimalGradient") is gradient
    Op.get("relax.ccl.allreduce").reset_attr("FPrimalGradient")


def test_absent_value() -> None:
    assert isinstance(info(op.null_value()), relax.ObjectStructInfo)


def test_functions_that_running_programs_call(capsys: pytest.CaptureFixture[str]) -> None:
    op.base.relax_print("{} is {}", "x", 3)
    op.base.relax_print("", 1, 2)
    assert capsys.readouterr().out == "x is 3\n1 2\n"
    op.base.relax_assert_op(True, "")
    with pytest.raises(AssertionError, match="Assertion Failed: x is 3"):
        op.base.relax_assert_op(False, "x is {}", 3)
    with pytest.raises(ValueError, match="the condition is one bool"):
        op.base.relax_assert_op([True, False], "")
    assert Op.get("relax.print").get_attr("FCallPacked") == "relax.run.print"


def test_places_of_results_in_operands() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    same, other = x.struct_info, relax.TensorStructInfo((2, 4), "float32")
    call = relax.op.call_inplace_packed("f", x, inplace_indices=0, sinfo_args=same)
    assert call.attrs.inplace_indices == (0,)
    for wrong in ([1], [-1], [], [0, 0]):
        with pytest.raises(TVMError, match="inplace_indices do not fit"):
            relax.op.call_inplace_packed("f", x, inplace_indices=wrong, sinfo_args=same)
    relax.op.call_inplace_packed("f", x, inplace_indices=[0], sinfo_args=other)
    call = relax.op.call_tir_inplace(relax.GlobalVar("f"), (x,), [0], other)
    assert "cannot overwrite operand 0" in next(inplace_faults(call))
    whole = relax.Var("t", relax.TupleStructInfo([same]))
    call = relax.op.call_tir_inplace(relax.GlobalVar("f"), whole, [0], same)
    with pytest.raises(TVMError, match="a tuple of them that is written in place"):
        relax.BlockBuilder().normalize(call)


def test_the_function_of_a_kernel_call_is_no_name() -> None:
    for make in (relax.op.call_tir, lambda *a: relax.op.call_tir_inplace(a[0], a[1], 0, a[2])):
        with pytest.raises(TypeError, match="expected a GlobalVar"):
            make("kernel", [var(2)], OUT)


@pytest.mark.parametrize("info", [relax.ObjectStructInfo(), relax.ShapeStructInfo([2])])
def test_results_of_kernels_are_tensors(info: relax.StructInfo) -> None:
    f = relax.GlobalVar("f")
    for make, callee in ((relax.op.call_tir, f), (relax.op.call_dps_packed, "f")):
        with pytest.raises(TypeError, match="out_sinfo expected TensorStructInfo"):
            make(callee, [var(2)], info)


def test_results_that_the_caller_states_are_on_the_devices_that_it_states() -> None:
    """Operands of outside calls may be on several devices, those of R.print too."""
    cpu, gpu = VDevice("llvm"), VDevice("cuda")
    a, b = (relax.Var(n, relax.TensorStructInfo((2,), "float32", v))
            for n, v in (("a", cpu), ("b", gpu)))  # fmt: skip
    plain = relax.TensorStructInfo((2,), "float32")
    there = relax.TensorStructInfo((2,), "float32", gpu)
    f = relax.GlobalVar("f")
    for stated in (plain, there):
        for call in (
            op.call_tir(f, (b,), stated), op.call_tir(f, (a, b), stated),
            op.call_tir_inplace(f, (b,), [0], stated), op.call_dps_packed("f", (b,), stated),
            op.call_pure_packed("f", a, b, sinfo_args=stated),
            op.call_inplace_packed("f", a, b, inplace_indices=[1], sinfo_args=stated),
            op.call_builtin_with_ctx("f", (b,), sinfo_args=stated),
            op.invoke_closure(relax.Var("c", relax.ObjectStructInfo()), (b,), stated),
        ):  # fmt: skip
            ir.assert_structural_equal(info(call), stated)
    assert info(op.print(a, b, format="{} {}")) == relax.TupleStructInfo([])
    condition = relax.Var("c", relax.TensorStructInfo((), "bool", cpu))
    assert info(op.assert_op(condition, [a, b], format="{} {}")) == relax.TupleStructInfo([])
