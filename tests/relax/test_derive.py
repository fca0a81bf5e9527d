"""What calls return, from the signature of their callee."""

from __future__ import annotations

import pytest

from tvm import ir, relax, tir
from tvm.error import InternalError, TVMError
from tvm.ffi import register_global_func
from tvm.relax.analysis import derive_call_ret_struct_info

pytestmark = pytest.mark.pure

N, M, K = (tir.Var(name, "int64") for name in "nmk")


def tensor(*shape: object) -> relax.TensorStructInfo:
    return relax.TensorStructInfo(shape, "float32")


def derived(info: relax.FuncStructInfo, *args: relax.StructInfo, **options: object) -> object:
    variables = [relax.Var(f"x{i}", arg) for i, arg in enumerate(args)]
    call = relax.Call(relax.Var("f", info), variables, **options)
    return derive_call_ret_struct_info(info, call, relax.BlockBuilder())


def test_symbols_take_the_extents_of_arguments() -> None:
    info = relax.FuncStructInfo([tensor(N, M)], tensor(M, N * 2))
    ir.assert_structural_equal(derived(info, tensor(4, K)), tensor(K, 8))


def test_symbols_that_are_not_bound_are_erased() -> None:
    info = relax.FuncStructInfo([tensor(N)], tensor(N, M))
    found = derived(info, relax.TensorStructInfo(None, "float32", ndim=1))
    ir.assert_structural_equal(found, relax.TensorStructInfo(None, "float32", ndim=2))


def test_symbols_in_shapes_numbers_and_tuples() -> None:
    params = [relax.ShapeStructInfo([N]), relax.PrimStructInfo(value=M),
              relax.TupleStructInfo([tensor(K)])]  # fmt: skip
    info = relax.FuncStructInfo(params, tensor(N, M, K))
    args = [relax.ShapeStructInfo([2]), relax.PrimStructInfo(value=tir.const(3, "int64")),
            relax.TupleStructInfo([tensor(4)])]  # fmt: skip
    ir.assert_structural_equal(derived(info, *args), tensor(2, 3, 4))


def test_one_symbol_for_two_extents_must_agree() -> None:
    info = relax.FuncStructInfo([tensor(N, N)], tensor(N))
    with pytest.raises(TVMError, match="argument 0 of f: type mismatch") as err:
        derived(info, tensor(2, 3))
    assert "here" in str(err.value)


def test_wrong_number_and_kind_of_arguments() -> None:
    info = relax.FuncStructInfo([tensor(2)], tensor(2))
    with pytest.raises(InternalError, match="number of arguments and parameters mismatch"):
        derived(info)
    with pytest.raises(TVMError, match="argument 0 of f: type mismatch"):
        derived(info, relax.TensorStructInfo((2,), "int32"))


def test_opaque_function_gives_what_the_caller_says() -> None:
    info = relax.extern("f").struct_info
    call = relax.Call(relax.extern("f"), [], sinfo_args=[tensor(2)])
    ir.assert_structural_equal(derive_call_ret_struct_info(info, call), tensor(2))
    both = relax.Call(relax.extern("f"), [], sinfo_args=[tensor(2), tensor(3)])
    assert isinstance(derive_call_ret_struct_info(info, both), relax.TupleStructInfo)
    none = relax.Call(relax.extern("f"), [])
    assert isinstance(derive_call_ret_struct_info(info, none), relax.ObjectStructInfo)


def test_rule_given_as_a_function() -> None:
    info = relax.FuncStructInfo.opaque_func(derive_func=lambda call, ctx: tensor(7))
    ir.assert_structural_equal(derived(info), tensor(7))


def test_callee_that_is_no_function() -> None:
    with pytest.raises(TVMError, match="no function"):
        derive_call_ret_struct_info(tensor(2), relax.Call(relax.extern("f"), []))


def test_an_object_is_no_tensor_until_it_is_cast() -> None:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    info = relax.FuncStructInfo(
        [relax.TensorStructInfo([n, m], "int8")], relax.TensorStructInfo([m, n], "int8")
    )
    func, bb = relax.Var("f", info), relax.BlockBuilder()
    rough = relax.Var("t", relax.TensorStructInfo(dtype="int8", ndim=2))
    found = derive_call_ret_struct_info(info, relax.Call(func, [rough]), bb)
    assert str(found) == 'R.Tensor(dtype="int8", ndim=2)'
    anything = relax.Var("o", relax.ObjectStructInfo())
    with pytest.raises(TVMError, match="type mismatch"):
        derive_call_ret_struct_info(info, relax.Call(func, [anything]), bb)


def test_parameters_of_a_function_define_symbols() -> None:
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    param = relax.TensorStructInfo([1, 2 * n, n, m], "int8")
    info = relax.FuncStructInfo([param], relax.TensorStructInfo([n], "int8"))
    found = relax.analysis.definable_tir_vars_in_struct_info(info)
    assert [var.name for var in found] == ["n", "m"]


def test_a_rule_may_be_a_global_function() -> None:
    """It goes by its name or by its node; what Relax derives itself is one as well."""

    @register_global_func("test.derive.first_argument", override=True)
    def first(call: relax.Call, _context: object) -> relax.StructInfo:
        return call.args[0].struct_info

    for rule in ("test.derive.first_argument", ir.EnvFunc.get("test.derive.first_argument")):
        info = relax.FuncStructInfo.opaque_func(derive_func=rule)
        assert info.derive_func.name == "test.derive.first_argument"
        ir.assert_structural_equal(derived(info, tensor(4, K)), tensor(4, K))
    assert ir.EnvFunc.get("tvm.relax.struct_info.infer_view_sinfo").func


@pytest.mark.parametrize("info", [relax.TensorStructInfo(), relax.TensorStructInfo([3], "")])
def test_rank_and_type_of_arguments_have_to_be_known(info: relax.StructInfo) -> None:
    tensor = relax.TensorStructInfo([3], "int8")
    func = relax.Var("f", relax.FuncStructInfo([tensor], tensor))
    with pytest.raises(InternalError, match="type mismatch"):
        relax.BlockBuilder().normalize(relax.Call(func, [relax.Var("x", info)]))
    rank_only = relax.Var("x", relax.TensorStructInfo(ndim=1, dtype="int8"))
    assert relax.BlockBuilder().normalize(relax.Call(func, [rank_only])).struct_info == tensor
