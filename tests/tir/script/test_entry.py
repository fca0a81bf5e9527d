"""Decorators, proxies and words that stand around programs."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.script.entry import PtrProxy

pytestmark = pytest.mark.pure


def test_buffers_by_call_and_by_brackets() -> None:
    made = [T.Buffer((4, 2), "int8"), T.Buffer[(4, 2), "int8"]]
    assert [(b.dtype, len(b.shape)) for b in made] == [("int8", 2)] * 2
    assert len(T.Buffer[4].shape) == 1
    assert isinstance(PtrProxy()["int8"], tir.Var)
    assert T.Ptr(T.int8).type_annotation.element_type.dtype == "int8"


def test_decorators_take_functions_only() -> None:
    with pytest.raises(TypeError, match="Expect a function"):
        T.prim_func(3)
    with pytest.raises(ValueError, match=r"Invalid use of T\.macro"):
        T.macro("x")


def test_words_that_are_values() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert isinstance(T.comm_reducer(lambda a, b: a + b, [T.int32(0)]), tir.CommReducer)
    assert str(T.reduce(T.comm_reducer(lambda a, b: a + b, [T.int32(0)]), [x], [],
                        [T.iter_var("k", (0, 4), "CommReduce", "")], True, 0)) == (
        "T.reduce(T.comm_reducer(lambda a, b: a + b, [0]), source=[x], init=[], "
        'axis=[T.iter_var(k, T.Range(0, 4), "CommReduce", "")], condition=T.bool(True), '
        "value_index=0)"
    )  # fmt: skip
    mapped = T.index_map(lambda i, j: [i * 4 + j], index_dtype="int32").map_indices([x, y])
    assert [str(index) for index in mapped] == ["x * 4 + y"]
    assert T.target("llvm") == Target("llvm")
    with pytest.raises(ValueError, match="expected a config dict or string"):
        T.target(3)
    assert str(T.Tuple(T.int32, T.handle("int8"))) == 'T.Tuple(T.int32, T.handle("int8", "global"))'
    assert [item.value for item in T.meta_var([1, 2])] == [1, 2]


def test_operators_without_a_function_are_words_too() -> None:
    x = tir.Var("x", "float32")
    assert str(T.fabs(x)) == "T.fabs(x)"
    assert T.fabs(x).dtype == "float32"
    assert T.prefetch(x, 1, 2, 3).dtype == "int32"
    assert T.atomic_add(x, 1.0, dtype="float32").dtype == "float32"
    assert T.cuda___activemask().op.name == "tir.cuda.__activemask"
    with pytest.raises(AttributeError, match="T has no word 'nonsense'"):
        T.nonsense


def test_calls_may_end_with_the_dtype_of_their_result() -> None:
    x = tir.Var("x", "float32")
    assert str(T.exp(x, dtype="float32")) == "T.exp(x)"
    assert str(T.call_extern("f", x, dtype="int32")) == 'T.call_extern("int32", "f", x)'
