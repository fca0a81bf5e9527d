"""Every operator is a word of `R`, and values have words of their own."""

from __future__ import annotations

import inspect

import pytest

from tvm import relax
from tvm.ir import VDevice
from tvm.relax import op
from tvm.script import relax as R

pytestmark = pytest.mark.pure
x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))


OPERATORS = [name for name in op.__all__ if not inspect.ismodule(getattr(op, name))]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str) -> None:
    assert callable(getattr(R, name))


def test_groups() -> None:
    assert callable(R.nn.relu)
    assert "relu" in dir(R.nn) or hasattr(R.nn, "relu")
    with pytest.raises(AttributeError, match=r"R\.nn has no operator 'nothing'"):
        R.nn.nothing
    with pytest.raises(AttributeError, match="R has no word 'nothing'"):
        R.nothing


def test_values() -> None:
    assert isinstance(R.str("a"), relax.StringImm)
    assert isinstance(R.dtype("int8"), relax.DataTypeImm)
    assert len(R.tuple(x, x)) == 2
    assert len(R.tuple((x, x))) == 2
    assert R.shape([1, 2])[1].value == 2
    assert R.call_packed("f", x, sinfo_args=R.Object, key=1).attrs["key"] == 1
    assert R.ExternFunc("f").global_symbol == "f"


def test_struct_infos_are_taken_as_they_are_written() -> None:
    call = R.call_tir("f", x, R.Tensor((4,), "float32"))
    assert call.args[0].name_hint == "f"
    assert str(call.sinfo_args[0]) == 'R.Tensor((4,), dtype="float32")'
    device = VDevice("llvm")
    assert R.to_vdevice(x, device).attrs.dst_vdevice is device


def test_words_of_shapes_items_and_devices():
    t = relax.Var("t", R.Tuple([R.Tensor((2,), "float32"), R.Object()]))
    assert R.TupleGetItem(t, 0).struct_info.dtype == "float32"
    assert [int(e) for e in R.ShapeExpr([2, 3])] == [2, 3]
    assert R.cuda(1).device_id == 1
    for kind in ("ext_dev", "hexagon", "metal", "opencl", "rocm", "vpi", "vulkan", "webgpu"):
        assert getattr(R, kind)(0) == R.device(kind, 0)
    assert str(R.device("cpu", 0)) == str(R.cpu())


def test_the_builder_has_the_rewriter_too():
    from tvm.script.ir_builder.relax import ir as builder

    assert builder.rewriter is R.rewriter
