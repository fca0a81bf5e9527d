"""Functions: parameters, attributes, bodies."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm import tir

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
