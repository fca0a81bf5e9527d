import numpy as np
import pytest

import tvm
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def one(a: T.handle, b: T.handle):
    T.func_attr({"tir.num_results": 1})
    n = T.int64()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n, 2))
    for i in range(n):
        B[i, 0] = A[i]
        B[i, 1] = A[i] * 2.0


@T.prim_func
def two(a: T.handle, b: T.handle, C: T.Buffer((), "int32")):
    T.func_attr({"tir.num_results": 2})
    n = T.int64()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        B[i] = A[i] + 1.0
    C[()] = T.Cast("int32", n)


def test_one_result_is_returned_itself():
    a = np.arange(3, dtype="float32")
    found = tvm.compile(one)["one"](tvm.runtime.tensor(a))
    np.testing.assert_array_equal(found.numpy(), np.stack([a, a * 2], axis=1))


def test_one_result_may_be_in_an_array():
    a = np.arange(3, dtype="float32")
    func = one.with_attr("tir.results_in_array", True)
    (found,) = tvm.compile(func)["one"](tvm.runtime.tensor(a))
    np.testing.assert_array_equal(found.numpy(), np.stack([a, a * 2], axis=1))


def test_several_results_are_returned_together():
    a = np.arange(3, dtype="float32")
    first, second = tvm.compile(two)["two"](tvm.runtime.tensor(a))
    np.testing.assert_array_equal(first.numpy(), a + 1)
    assert second.numpy() == 3


def test_results_are_no_parameters():
    a = tvm.runtime.tensor(np.zeros(3, "float32"))
    with pytest.raises(tvm.TVMError, match="call one with 1 argument"):
        tvm.compile(one)["one"](a, a)


@T.prim_func
def fails(a: T.handle, b: T.handle, c: T.handle):
    T.func_attr({"tir.num_results": 2, "global_symbol": "main"})
    n = T.int64()
    A = T.match_buffer(a, (n,))
    B = T.match_buffer(b, (n, 1000))
    C = T.match_buffer(c, (n, 1000))
    T.evaluate(T.call_packed("testing.address", B))
    T.evaluate(T.call_packed("testing.address", C))
    assert A[0] > T.float32(0), "ValueError: not positive"
    B[0, 0] = A[0]
    C[0, 0] = A[0]


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_function_that_fails_keeps_no_tensor(target):
    seen = []
    tvm.register_global_func("testing.address", lambda t: seen.append(t.data_ptr()), override=True)
    func = tvm.compile(fails, target=target)["main"]
    a = tvm.runtime.tensor(np.zeros(3, "float32"))
    for _ in range(50):
        with pytest.raises(ValueError, match="not positive"):
            func(a)
    # memory that was given up is used again, if not always at once; else all would differ
    assert len(set(seen)) < 25
    first, _ = func(tvm.runtime.tensor(np.ones(3, "float32")))
    assert first.numpy()[0, 0] == 1
