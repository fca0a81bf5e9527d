"""What the arguments of exported methods are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec

pytestmark = pytest.mark.pure


class Network(nn.Module):
    def forward(self, x: nn.Tensor, n: Any, rest: Any = None) -> nn.Tensor:
        return x


def test_raw_specs_are_converted() -> None:
    x = spec.Tensor([1, "n"], "float32")
    for whole in (int, "int", spec.Int, spec.Int()):
        made = spec.ModuleSpec.from_raw({"forward": {"x": x, "n": whole}}, Network())
        (method,) = made.method_specs
        assert method.arg_names == ["x", "n"]
        assert repr(made) == (
            "ModuleSpec:\n  forward(x: Tensor([1, n], 'float32'), n: int)"
        )
    assert spec.ModuleSpec.from_raw(made, Network()) is made


def test_tuples_nest() -> None:
    x = spec.Tensor([2], "int8")
    made = spec.MethodSpec.from_raw({"rest": (x, [x, int])}, Network().forward)
    (rest,) = made.arg_specs
    assert isinstance(rest, spec.Tuple)
    assert isinstance(rest.elements, tuple)
    assert [part.name for part in rest.elements if isinstance(part, spec.Tuple)] == ["rest_1"]
    assert repr(rest) == "(Tensor([2], 'int8'), [Tensor([2], 'int8'), int])"


def test_examples_tell_shapes() -> None:
    made = spec.MethodSpec.from_torch([np.zeros((2, 3), "float32"), 4, [np.zeros(1)]],
                                      Network().forward)  # fmt: skip
    assert repr(made) == (
        "MethodSpec(x: Tensor([2, 3], 'float32'), n: int, rest: [Tensor([1], 'float64')])"
    )


@pytest.mark.parametrize(
    ("raw", "told", "error"),
    [
        ({"backward": {}}, "the method 'backward'", AttributeError),
        ({"forward": {"y": int}}, "the argument 'y'", TypeError),
        ({"forward": {"$": {"param_mode": "loose"}}}, "param_mode of a method", ValueError),
    ],
)
def test_specs_that_are_refused(raw: Any, told: str, error: type[Exception]) -> None:
    with pytest.raises(error, match=told):
        spec.ModuleSpec.from_raw(raw, Network())


def test_types_that_are_refused() -> None:
    with pytest.raises(TypeError, match="the spec of the argument 'x'"):
        spec.MethodSpec.from_raw({"x": 3.5}, Network().forward)
    with pytest.raises(TypeError, match="a list or a tuple"):
        spec.Tuple("t", 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the example of the argument 'x'"):
        spec.MethodSpec.from_torch(["a", 1, 1], Network().forward)
    with pytest.raises(TypeError, match="2 examples"):
        spec.MethodSpec.from_torch([1, 1], Network().forward)
