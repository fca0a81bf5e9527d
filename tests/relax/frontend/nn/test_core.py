"""Tensors, parameters and modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax, runtime, tir
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import core, spec

pytestmark = pytest.mark.pure


def test_tensors_tell_their_shape() -> None:
    tensor = nn.Tensor.placeholder([4, "n"], "float16", "t")
    assert tensor.shape[0] == 4
    assert str(tensor.shape[1]) == "n"
    assert (tensor.ndim, tensor.dtype) == (2, "float16")
    assert repr(tensor) == 'Tensor([4, n], "float16")'
    constant = nn.Tensor.from_const(np.ones((2, 3), "float32"))
    assert isinstance(constant._expr, relax.Constant)
    assert (constant.shape, constant.dtype) == ([2, 3], "float32")
    assert nn.Tensor.from_scalar(3, "int8").dtype == "int8"
    assert nn.Tensor.from_struct_info(relax.TensorStructInfo((5,), "int64")).shape == [5]


@pytest.mark.parametrize("dim", [True, 2.5, None])
def test_extents_are_integers(dim: Any) -> None:
    with pytest.raises(TypeError, match="an int, a str"):
        nn.Tensor.placeholder([dim], "float32")


def test_more_that_is_no_tensor() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        nn.Tensor.placeholder([-1], "float32")
    with pytest.raises(TypeError, match="found: float32"):
        nn.Tensor.placeholder([tir.Var("x", "float32")], "float32")
    with pytest.raises(TypeError, match="that of a tensor"):
        nn.Tensor(_expr=relax.ShapeExpr([1]))
    with pytest.raises(TypeError, match="whose shape is known"):
        nn.Tensor(_expr=relax.Var("x", relax.TensorStructInfo(ndim=2, dtype="float32")))
    with pytest.raises(RuntimeError, match="calls within export_tvm"):
        nn.Tensor.placeholder([1], "float32") + 1


def test_values_of_parameters() -> None:
    param = nn.Parameter((2, 3))
    assert (param.dtype, param.data) == ("float32", None)
    param.data = np.ones((2, 3), "float32")
    assert param.data.numpy().sum() == 6
    param.data = runtime.tensor(np.zeros((2, 3), "float32"))
    with pytest.raises(ValueError, match=r"legal: \(2, 3\)"):
        param.data = np.ones((3, 2), "float32")
    with pytest.raises(ValueError, match="legal: float32"):
        param.data = np.ones((2, 3), "float64")
    with pytest.raises(TypeError, match="a numpy array"):
        param.data = [1]
    with pytest.raises(ValueError, match="values are set"):
        param.to("float16")
    param.data = None
    param.to("float16")
    assert param.dtype == "float16"
    param.attrs["shard"] = 1
    assert param.attrs == {"shard": 1}


def test_the_default_dtype() -> None:
    before = nn.get_default_dtype()
    nn.set_default_dtype("float16")
    try:
        assert nn.Linear(2, 2).weight.dtype == "float16"
    finally:
        nn.set_default_dtype(before)


class Network(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(2, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3, bias=False), nn.ReLU()])
        self.scale = nn.Parameter((3,))

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        return self.layers(self.first(x)) * self.scale


def test_parameters_have_the_names_of_attributes() -> None:
    names = ["first.weight", "first.bias", "layers.0.weight", "scale"]
    assert [name for name, _ in Network().named_parameters()] == names
    assert list(Network().state_dict(prefix="net.")) == ["net." + name for name in names]
    assert len(list(Network().parameters())) == 4


def test_states_are_loaded() -> None:
    source, target = Network(), Network()
    for param in source.parameters():
        param.data = np.ones([int(n) for n in param.shape], "float32")
    state = source.state_dict()
    assert target.load_state_dict(state) == ([], [])
    assert all(param.data is not None for param in target.parameters())
    del state["scale"]
    state["other"] = nn.Parameter((1,))
    assert target.load_state_dict(state, strict=False) == (["scale"], ["other"])
    with pytest.raises(KeyError, match=r"Missing keys: \['scale'\], Unexpected keys: \['other'\]"):
        target.load_state_dict(state)
    del state["other"]
    state["scale"] = nn.Parameter((1,))
    with pytest.raises(ValueError, match=r"scale.*\n.*without data"):
        target.load_state_dict(state)


def test_lists_of_modules() -> None:
    modules = nn.ModuleList([nn.ReLU()])
    modules.append(nn.SiLU())
    modules[0] = nn.Identity()
    assert len(modules) == 2
    assert [type(m).__name__ for m in modules] == ["Identity", "SiLU"]


def test_objects_are_no_tensors() -> None:
    var = relax.Var("o", relax.ObjectStructInfo())
    assert nn.Object(_expr=var, _name="o")._expr is var
    with pytest.raises(TypeError, match=r"legal: R\.Object"):
        nn.Object(_expr=relax.Var("t", relax.TensorStructInfo((1,), "float32")), _name="t")


def test_what_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="does not have a `forward` method"):
        nn.Module()()
    with pytest.raises(ValueError, match="'torch' or 'tvm'"):
        Network().jit({"forward": {"x": spec.Tensor([1, 2], "float32")}}, out_format="jax")
    builder = relax.BlockBuilder()
    with builder.function("main", []):
        with pytest.raises(TypeError, match="a tensor, or a tuple of tensors"):
            core.wrap_nested(relax.op.null_value(), "nothing")
        builder.emit_func_output(relax.Tuple([]))
