import pytest

from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.transform.float_legalizer import compute_in, store_as_integers

pytestmark = pytest.mark.pure


def is_bfloat16(dtype):
    return dtype.is_bfloat16


@T.prim_func
def func(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "uint16")):
    t_data = T.allocate([8], "bfloat16", "global")
    t = T.decl_buffer((8,), "bfloat16", data=t_data)
    for i in T.vectorized(8):
        t[i] = A[i] * A[i]
        B[i] = T.reinterpret("uint16", t[i])


def test_bits_are_those_of_the_narrow_type():
    body = compute_in(func, is_bfloat16, "float32").body
    casts = [
        n for n in walk(body) if getattr(getattr(n, "op", None), "name", "") == "tir.reinterpret"
    ]
    assert [str(n.args[0].dtype) for n in casts] == ["bfloat16"]
    products = [n for n in walk(body) if type(n).__name__ == "Mul"]
    assert [str(n.dtype) for n in products] == ["float32"]


def test_no_memory_of_the_narrow_type_is_left():
    after = store_as_integers(func, is_bfloat16)
    kinds = {str(n.buffer.dtype) for n in walk(after.body) if hasattr(n, "buffer")}
    kinds |= {str(b.dtype) for b in after.buffer_map.values()}
    kinds |= {str(n.dtype) for n in walk(after.body) if type(n).__name__ == "Allocate"}
    assert kinds == {"uint16"}


def test_keeps_functions_without_it():
    @T.prim_func
    def plain(A: T.Buffer((8,), "float32")):
        A[0] = 1.0

    assert compute_in(plain, is_bfloat16, "float32") is plain
    assert store_as_integers(plain, is_bfloat16).body is plain.body
