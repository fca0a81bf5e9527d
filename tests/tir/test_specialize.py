"""Functions with some parameters fixed."""

import pytest

from tvm import tir
from tvm.script import tir as T
from tvm.tir import expr as e

pytestmark = pytest.mark.pure


@T.prim_func
def copy(a: T.handle, b: T.handle, m: T.int32) -> None:
    n = T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n * 2), "float32")
    for i, j in T.grid(m, n):
        B[i, j * 2] = A[i, j]


def test_scalar() -> None:
    m = copy.params[2]
    found = copy.specialize({m: 16})
    assert len(found.params) == 2
    assert [int(found.buffer_map[p].shape[0]) for p in found.params] == [16, 16]
    assert int(found.body.extent) == 16


def test_buffer() -> None:
    a, b, m = copy.params
    found = copy.specialize({a: tir.decl_buffer((8, 4), "float32")})
    assert [int(x) for x in found.buffer_map[b].shape] == [8, 8]
    assert found.params == (a, b)
    k = e.Var("k", "int32")
    kept = copy.specialize({a: tir.decl_buffer((k, 4), "float32")})
    assert kept.buffer_map[b].shape[0] is k
    assert copy.specialize({}) is copy
    assert m not in found.params


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (0, tir.decl_buffer((4,), "float32"), "number of dimensions differs"),
        (0, tir.decl_buffer((4, 4), "int8"), "dtype differs"),
        (1, tir.decl_buffer((4, 4), "float32"), "an extent that is no variable cannot change"),
        (0, 3, "to be given a Buffer; found int"),
        (2, tir.decl_buffer((4, 4), "float32"), "it is no buffer; found a Buffer"),
        (2, e.IntImm("int64", 1) + e.Var("q", "int64"), "to be given a int32; found int64"),
    ],
)
def test_misfits(place, value, text) -> None:
    with pytest.raises(ValueError, match=text):
        copy.specialize({copy.params[place]: value})


def test_parts_that_are_no_variables_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="no variable cannot change"):
        copy.specialize({copy.params[1]: tir.decl_buffer((4, 4), "float32")})
    with pytest.raises(TypeError, match="in PrimFunc's params"):
        copy.specialize({copy.buffer_map[copy.params[0]]: tir.decl_buffer((4, 4), "float32")})


def test_unknown_parameter() -> None:
    with pytest.raises(ValueError, match="in PrimFunc's params, found q; legal: a, b, m"):
        copy.specialize({e.Var("q", "int32"): 3})


def test_one_variable_one_value() -> None:
    a, _, m = copy.params
    with pytest.raises(ValueError, match="m is given two values"):
        copy.specialize({m: 8, a: tir.decl_buffer((4, 4), "float32")})
