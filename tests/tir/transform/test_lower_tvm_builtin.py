import ctypes

import numpy as np
import pytest

import tvm
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.transform import LowerTVMBuiltin


def names(mod):
    func = mod[mod.get_global_vars()[0]]
    return [n.op.name for n in walk(func.body) if type(n).__name__ == "Call"]


@T.prim_func
def calls(A: T.Buffer((4,), "float32"), n: T.int32):
    T.evaluate(T.call_packed("testing.lower_builtin.note", A.data, n, T.float32(2.5), "text"))
    for i in T.parallel(4):
        T.evaluate(T.call_packed("testing.lower_builtin.other", i))


@pytest.mark.pure
def test_arguments_go_to_the_stack():
    found = names(LowerTVMBuiltin()(IRModule.from_expr(calls)))
    assert "tir.tvm_call_packed" not in found
    assert found.count("tir.tvm_call_packed_lowered") == 2
    assert found.count("tir.tvm_stack_alloca") == 2  # the parallel body has one of its own


@pytest.mark.pure
def test_one_stack_serves_all_calls():
    @T.prim_func
    def two(n: T.int32):
        T.evaluate(T.call_packed("f", n, n))
        T.evaluate(T.call_packed("g", n))

    body = LowerTVMBuiltin()(IRModule.from_expr(two))["two"].body
    assert type(body).__name__ == "LetStmt"
    assert int(body.value.args[1]) == 3  # two arguments and the result
    assert names(LowerTVMBuiltin()(IRModule.from_expr(two))).count("tir.tvm_stack_alloca") == 1


@pytest.mark.pure
def test_keeps_functions_without_packed_calls():
    @T.prim_func
    def plain(A: T.Buffer((4,), "float32")):
        A[0] = 1.0

    mod = IRModule.from_expr(plain)
    assert LowerTVMBuiltin()(mod) is mod


@pytest.mark.cpu
def test_calls_python_functions():
    seen = []

    @tvm.register_global_func("testing.lower_builtin.call", override=True)
    def note(tensor, n, x, flag, text):
        values = (ctypes.c_float * 6).from_address(int(tensor.data_ptr()))
        seen.append((list(values), tuple(tensor.shape), n, x, flag, text))
        return n + 1

    @T.prim_func
    def func(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2,), "int32")):
        B[0] = T.call_packed("testing.lower_builtin.call", A, 7, T.float32(2.5), T.bool(True), "hi")
        B[1] = B[0] * 2

    a, b = np.arange(6, dtype="float32").reshape(2, 3), np.zeros(2, "int32")
    tvm.compile(func)["func"](a, b)
    assert list(b) == [8, 16]
    assert seen == [([0, 1, 2, 3, 4, 5], (2, 3), 7, 2.5, True, "hi")]


@pytest.mark.cpu
def test_calls_in_arguments():
    tvm.register_global_func("testing.lower_builtin.add", lambda x, y: x + y, override=True)

    @T.prim_func
    def func(B: T.Buffer((1,), "int32")):
        B[0] = T.call_packed(
            "testing.lower_builtin.add", T.call_packed("testing.lower_builtin.add", 1, 2), 10
        )

    b = np.zeros(1, "int32")
    tvm.compile(func)["func"](b)
    assert b[0] == 13


@pytest.mark.cpu
def test_errors_of_python_functions_come_back():
    @tvm.register_global_func("testing.lower_builtin.fail", override=True)
    def fail():
        raise ValueError("not today")

    @T.prim_func
    def func(B: T.Buffer((1,), "int32")):
        B[0] = T.call_packed("testing.lower_builtin.fail")

    with pytest.raises(ValueError, match="not today"):
        tvm.compile(func)["func"](np.zeros(1, "int32"))


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_conditions_of_loops_are_asked_each_time(target):
    """With the values that the arguments have by then, also after `continue`."""
    asked = []

    @tvm.register_global_func("tests.tir.is_less", override=True)
    def is_less(a, b):
        asked.append(a)
        return int(a < b)

    @T.prim_func
    def count(A: T.Buffer((2,), "int32")):
        while T.call_packed("tests.tir.is_less", A[0], 5) == 1:
            A[0] = A[0] + 1
            if A[0] == 2:
                T.continue_loop()
            A[1] = A[1] + T.call_packed("tests.tir.is_less", 100, A[0])
            A[1] = A[1] + 10

    values = tvm.runtime.tensor(np.zeros(2, "int32"))
    tvm.compile(count, target=target)(values)
    assert values.numpy().tolist() == [5, 40]
    assert [a for a in asked if a != 100] == [0, 1, 2, 3, 4, 5]


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_side_that_is_not_taken_has_no_arguments(target):
    """Neither are they read, which may be out of bounds, nor are calls among them made."""
    seen = []

    def note(x):
        seen.append(x)
        return x + 1

    tvm.register_global_func("testing.lower_builtin.seen", note, override=True)

    @T.prim_func
    def func(at: T.int32, A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
        B[0] = T.if_then_else(
            at < 2,
            T.call_packed(
                "testing.lower_builtin.seen",
                T.call_packed("testing.lower_builtin.seen", A[T.max(at, at * 100000000)]),
            ),
            -1,
        )
        B[1] = T.if_then_else(
            T.call_packed("testing.lower_builtin.seen", at) < 3,
            5, T.call_packed("testing.lower_builtin.seen", at * 10),
        )  # fmt: skip

    made = tvm.compile(func, target)["func"]
    a, b = np.array([7, 8], "int32"), np.zeros(2, "int32")
    made(0, a, b)
    assert (list(b), seen) == ([9, 5], [7, 8, 0])
    seen.clear()
    made(9, a, b)
    assert (list(b), seen) == ([-1, 90 + 1], [9, 90])
