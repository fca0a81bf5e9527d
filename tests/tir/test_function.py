"""Functions: parameters, attributes, bodies."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm import tir
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_buffers_as_parameters() -> None:
    a = tir.decl_buffer((4,), "float32", "A")
    func = tir.PrimFunc([a], tir.Evaluate(0))
    assert func.params[0].dtype == "handle"
    assert func.buffer_map[func.params[0]] is a
    with pytest.raises(TypeError, match="params can only be Var or Buffer, found int"):
        tir.PrimFunc([3], tir.Evaluate(0))
    with pytest.raises(tvm.TVMError, match="buffer_map names 'x', which is no parameter"):
        tir.PrimFunc([], tir.Evaluate(0), buffer_map={tir.Var("x", "handle"): a})


def test_attributes() -> None:
    func = copy_func()
    tagged = func.with_attr("a", 1).with_attr({"b": 2, "c": 3})
    assert dict(tagged.attrs.items()) == {"a": 1, "b": 2, "c": 3}
    assert tagged.body is func.body
    assert "a" not in tagged.without_attr("a").attrs
    assert tagged.without_attr("zzz") is tagged
    assert "a" not in func.attrs


def test_with_body() -> None:
    func = copy_func()
    assert func.with_body(func.body) is func
    other = func.with_body(tir.Evaluate(0))
    assert other.params == func.params
    assert other.attrs is func.attrs


def test_signature_as_type() -> None:
    annotation = copy_func().func_type_annotation
    assert [str(t.dtype) for t in annotation.arg_types] == ["handle", "handle"]


def test_the_name_and_the_signature_of_a_parsed_function() -> None:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), n: T.int64) -> T.int32:
        T.ret(1)

    assert double.__name__ == "double"
    assert str(double.struct_info) == (
        'R.Callable((R.Tensor((4,), dtype="float32"), R.Prim("int64")), R.Prim("int32"), True)'
    )


def test_a_buffer_variable_of_the_builder_is_the_address_of_its_data() -> None:
    ib = tir.ir_builder.create()
    a = ib.pointer("float32", name="A")
    ib.emit(tir.Evaluate(a[0]))
    func = tir.PrimFunc([a], ib.get())
    assert func.params[0].name == "A"
    assert not func.buffer_map
