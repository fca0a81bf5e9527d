"""Extents as models write them: unknown ones, names, arithmetic over names."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tvm
from tvm import relax, tir
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.onnx.dimensions import Dimensions


def _model(shape: Any, op: str = "Identity") -> onnx.ModelProto:
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)]
    outputs = [onnx.ValueInfoProto(name="y")]
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"])], "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def _run(mod: tvm.IRModule, *arrays: Any) -> Any:
    return relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())["main"](*arrays).numpy()


@pytest.mark.cpu
def test_each_question_mark_is_an_extent_of_its_own() -> None:
    with pytest.warns(UserWarning, match="Input x has unknown dimension shapes.*static values"):
        mod = from_onnx(_model(["?", "?"], "Abs"))
    first, second = mod["main"].params[0].struct_info.shape.values
    assert first is not second
    assert [type(first), first.name] == [tir.SizeVar, "?"]
    x = np.array([[-1, 2, -3]], "float32")
    np.testing.assert_array_equal(_run(mod, x), abs(x))
    again = tvm.script.from_source(mod.script())
    tvm.ir.assert_structural_equal(again, mod, map_free_vars=True)


def test_sizes_that_the_caller_gives_are_no_question() -> None:
    mod = from_onnx(_model(["?", "?"], "Abs"), {"x": [2, "n"]})
    two, other = mod["main"].params[0].struct_info.shape.values
    assert (two.value, other.name) == (2, "n")


@pytest.mark.cpu
@pytest.mark.parametrize(
    ("text", "extent"),
    [("H * W", 12), ("H - 2", 4), ("H + W", 8), ("H // W", 3), ("H / W", 3), ("H*W", 12),
     ("2 * (H - W)", 8), ("H - W - 1", 3), ("W + H * 2", 14)],
)  # fmt: skip
def test_arithmetic_over_names(text: str, extent: int) -> None:
    mod = from_onnx(_model(["H", "W", text]))
    height, width, third = mod["main"].params[0].struct_info.shape.values
    names = set(tir.analysis.undefined_vars(third))
    assert names <= {height, width}
    assert names
    assert _run(mod, np.ones((6, 2, extent), "float32")).shape == (6, 2, extent)
    with pytest.raises(Exception, match=r"shape|dimension|extent"):
        _run(mod, np.ones((6, 2, extent + 1), "float32"))


def test_other_texts_are_names() -> None:
    """An expression gives no value to a symbol; a hyphen belongs to a name."""
    sizes = Dimensions([["n", "m", "n-m", "a * b", "batch size", "n +", "(n"]])
    for text in ("n-m", "a * b", "batch size", "n +", "(n", "unk__5", "x.1", "0/b"):
        found = sizes.size("x", text)
        assert isinstance(found, tir.SizeVar), text
        assert sizes.size("x", text) is found
    assert isinstance(sizes.size("x", "n - m"), tir.Sub)
    assert isinstance(sizes.size("x", "(" * 5000 + "n" + ")" * 5000), tir.SizeVar)


def test_the_form_of_an_imported_function() -> None:
    """Nothing but the number of inputs is among the attributes."""
    found = from_onnx(_model(["H", "W", "H * W"]))
    height, width = tir.SizeVar("H", "int64"), tir.SizeVar("W", "int64")
    info = relax.TensorStructInfo((height, width, height * width), "float32")
    x = relax.Var("x", info)
    bb = relax.BlockBuilder()
    with bb.function("main", [x], {"num_input": 1}):
        with bb.dataflow():
            result = bb.emit_output(x)
        bb.emit_func_output(result)
    tvm.ir.assert_structural_equal(found, bb.get())
