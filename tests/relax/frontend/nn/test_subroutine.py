"""Modules as functions of their own."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


class HalfStep(nn.Module):
    define_subroutine = True

    def forward(self, state: nn.Tensor) -> nn.Tensor:
        return nn.op.silu(state)


class Layer(nn.Module):
    define_subroutine = True

    def __init__(self, columns: int) -> None:
        self.weights = nn.Parameter((columns, columns))
        self.activation = HalfStep()

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        result: nn.Tensor = self.activation(nn.op.matmul(x, self.weights))
        return result


def test_whole() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def forward(x: R.Tensor(("n", 8), "float32"), weights: R.Tensor((8, 8), "float32")):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                lv = Expected.layer(x, weights)
                gv = lv
                R.output(gv)
            return gv

        @R.function(private=True)
        def layer(
            x: R.Tensor(("n", 8), "float32"), weights: R.Tensor((8, 8), "float32")
        ) -> R.Tensor(("n", 8), "float32"):
            with R.dataflow():
                product = R.matmul(x, weights)
                lv = Expected.half_step(product)
                gv = lv
                R.output(gv)
            return gv

        @R.function(private=True)
        def half_step(state: R.Tensor(("n", 8), "float32")) -> R.Tensor(("n", 8), "float32"):
            with R.dataflow():
                silu = R.nn.silu(state)
                gv = silu
                R.output(gv)
            return gv

    n = tir.Var("n", "int64")
    mod, _ = Layer(8).export_tvm({"forward": {"x": spec.Tensor([n, 8], "float32")}})
    assert_structural_equal(mod, Expected)


def test_names() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            self.first, self.second = Layer(8), Layer(8)

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            result: nn.Tensor = self.second(self.first(x))
            return result

    mod, _ = Twice().export_tvm({"forward": {"x": spec.Tensor([2, 8], "float32")}})
    caller, layer = mod["forward"], mod["layer"]
    names = [binding.var.name_hint for binding in caller.body.blocks[0].bindings]
    assert names == ["layer_output", "layer_output1", "gv2"]
    assert [param.name_hint for param in layer.params] == ["x", "first.weights"]


def test_modules_of_one_shape_share_a_function() -> None:
    class Stack(nn.Module):
        def __init__(self, *columns: int) -> None:
            self.layers = nn.ModuleList([Layer(count) for count in columns])

        def forward(self, x: nn.Tensor, y: nn.Tensor) -> object:
            return self.layers[1](self.layers[0](x)), self.layers[2](y)

    forms = {"x": spec.Tensor(["n", 8], "float32"), "y": spec.Tensor([2, 4], "float32")}
    mod, params = Stack(8, 8, 4).export_tvm({"forward": forms})
    names = sorted(var.name_hint for var in mod.functions)
    assert names == ["forward", "half_step", "half_step1", "layer", "layer1"]
    assert len(params) == 3


def test_only_within_an_export() -> None:
    with pytest.raises(RuntimeError, match="calls within export_tvm"):
        HalfStep()(nn.Tensor.placeholder([2], "float32"))
