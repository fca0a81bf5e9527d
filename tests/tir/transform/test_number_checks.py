"""The entry of functions that take numbers and addresses alone."""

import numpy as np
import pytest

import tvm
from tvm.error import DTypeError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.transform import BindTarget, MakePackedAPI

pytestmark = pytest.mark.pure


def packed(func) -> str:
    target = Target("c", host="c")
    return str(MakePackedAPI()(BindTarget(target)(IRModule.from_expr(func))).script())


def test_writes_expected():
    @T.prim_func
    def next_of(x: T.int32) -> T.int64:
        T.func_attr({"target": T.target("c", host="c")})
        if x > 0:
            T.ret(T.int64(3))

    @T.prim_func
    def expected(
        self_handle: T.handle,
        args: T.handle,
        num_args: T.int32,
        result: T.handle("void", "global"),
    ) -> T.int32:
        T.func_attr(
            {"calling_conv": 1, "global_symbol": "__tvm_ffi_next_of", "target": T.target("c")}
        )
        assert num_args == 1, "next_of: num_args should be 1"
        assert not T.isnullptr(args), "next_of: args pointer is NULL"
        x_type_index: T.int32 = T.tvm_struct_get(args, 0, 13, "int32")
        assert x_type_index == 1 or x_type_index == 2, "next_of: Expect arg[0] to be int"
        x: T.int32 = T.Cast("int32", T.tvm_struct_get(args, 0, 15, "int64"))
        with T.attr(0, "compute_scope", "next_of_compute_"):
            if x > 0:
                T.tvm_struct_set(result, 0, 13, 1)
                T.tvm_struct_set(result, 0, 14, 0)
                T.tvm_struct_set(result, 0, 15, T.Cast("int64", T.int64(3)))
                return 0
        return 0

    made = MakePackedAPI()(IRModule.from_expr(next_of))["next_of"]
    tvm.ir.assert_structural_equal(made, expected)


def test_without_parameters_only_the_count_is_checked():
    @T.prim_func
    def none():
        T.evaluate(0)

    text = packed(none)
    assert 'assert num_args == 0, "none: num_args should be 0"' in text
    assert "isnullptr" not in text


@pytest.mark.parametrize(
    ("dtype", "legal"),
    [
        ("int64", "k_type_index == 1 or k_type_index == 2, \"f: Expect arg[0] to be int\""),
        ("uint8", "k_type_index == 1 or k_type_index == 2, \"f: Expect arg[0] to be int\""),
        ("bool", "k_type_index == 2 or k_type_index == 1, \"f: Expect arg[0] to be boolean\""),
        ("float32", "Expect arg[0] to be float\""),
        ("handle", "Expect arg[0] to be pointer\""),
    ],
)  # fmt: skip
def test_names_what_is_legal(dtype, legal):
    param = tvm.tir.Var("k", dtype)
    attrs = {"global_symbol": "f", "target": tvm.target.Target("c")}
    func = tvm.tir.PrimFunc([param], tvm.tir.Evaluate(param), attrs=None).with_attr(attrs)
    assert legal in packed(func)


def test_compiled_functions_tell_what_was_found():
    @T.prim_func
    def small(x: T.int8, A: T.Buffer((1,), "int8")):
        A[0] = x

    @T.prim_func
    def alone(x: T.int8) -> T.int32:
        T.ret(T.Cast("int32", x) + 1)

    for func, more in ((small, (np.zeros(1, "int8"),)), (alone, ())):
        run = tvm.compile(func)[func.attrs["global_symbol"]]
        run(7, *more)
        with pytest.raises(DTypeError, match="found: a string"):
            run("x", *more)
        with pytest.raises(ValueError, match="from -128 to 127"):
            run(300, *more)
