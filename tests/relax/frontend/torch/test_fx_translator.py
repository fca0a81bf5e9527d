"""Traced graphs: functions, methods and modules of torch.nn; inputs, weights, own converters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.frontend import detach_params
from tvm.relax.frontend.torch import from_fx
from tvm.relax.frontend.torch.fx_translator import TorchFXImporter
from tvm.script import ir as I
from tvm.script import relax as R

from .cases import FAMILIES, Case
from .networks import network
from .running import assert_same, check_traced, interpreted, module_of

torch = pytest.importorskip("torch")
nn = torch.nn
fx = torch.fx
# functions that torch itself cannot trace: they iterate over what is not there yet
UNTRACEABLE = {
    "median", "split", "chunk", "tensor_split", "unbind", "sort", "topk", "slogdet", "inv_ex",
    "lu_factor", "cholesky_ex", "triangular_solve", "frexp", "frexp of subnormal numbers",
    "frexp of doubles",
}  # fmt: skip
CASES = [case for family in FAMILIES.values() for case in family if case.name not in UNTRACEABLE]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_numbers(case: Case) -> None:
    check_traced(case)


@pytest.mark.parametrize("name", ["resnet", "mobilenet", "vision", "recurrent", "unet"])
def test_networks(name: str) -> None:
    model, args = network(name)
    info = [(tuple(arg.shape), str(arg.dtype)) for arg in args]
    assert_same(interpreted(from_fx(fx.symbolic_trace(model), info), args), model(*args))


def test_the_module() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            inp_0: R.Tensor((2, 4), dtype="float32"),
            lin_bias: R.Tensor((3,), dtype="float32"),
            lin_weight: R.Tensor((3, 4), dtype="float32"),
        ) -> R.Tensor((2, 3), dtype="float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                lv = R.permute_dims(lin_weight, axes=None)
                lv1 = R.matmul(inp_0, lv, out_dtype="float32")
                lv2 = R.add(lv1, lin_bias)
                lv3 = R.nn.relu(lv2)
                gv = lv3
                R.output(gv)
            return gv

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lin = nn.Linear(4, 3)

        def forward(self, x: Any) -> Any:
            return torch.relu(self.lin(x))

    model = Model()
    mod = from_fx(fx.symbolic_trace(model), [((2, 4), "float32")], keep_params_as_input=True)
    mod, params = detach_params(mod)
    tvm.ir.assert_structural_equal(mod, Expected)
    np.testing.assert_array_equal(params["main"][1].numpy(), model.lin.weight.detach().numpy())


def test_forms_of_the_result() -> None:
    graph = fx.symbolic_trace(module_of(lambda x: (x + 1,)))
    info = [((2,), "float32")]
    assert isinstance(from_fx(graph, info)["main"].ret_struct_info, relax.TupleStructInfo)
    alone = from_fx(graph, info, unwrap_unit_return_tuple=True)["main"]
    assert isinstance(alone.ret_struct_info, relax.TensorStructInfo)
    unbound = from_fx(graph, info, no_bind_return_tuple=True)["main"]
    assert isinstance(unbound.body.body, relax.Tuple)


def test_sizes_that_are_results() -> None:
    n = tvm.tir.SizeVar("n", "int64")
    info = [((n, 5), "float32")]
    for func in (lambda x: x.size(), lambda x: x.shape):
        found = from_fx(fx.symbolic_trace(module_of(func)), info)["main"]
        tvm.ir.assert_structural_equal(
            found.ret_struct_info, relax.ShapeStructInfo([n, tvm.tir.IntImm("int64", 5)])
        )
        assert isinstance(found.body.blocks[0].bindings[0].value, relax.ShapeExpr)
    pair = from_fx(fx.symbolic_trace(module_of(lambda x: (x.shape, x.numel()))), info)["main"]
    assert isinstance(pair.ret_struct_info.fields[0], relax.ShapeStructInfo)
    assert isinstance(pair.ret_struct_info.fields[1], relax.PrimStructInfo)
    graph = fx.symbolic_trace(module_of(lambda x: torch.numel(x)))
    count = from_fx(graph, [((3, 5), "float32")])["main"]
    tvm.ir.assert_structural_equal(
        count.body.blocks[0].bindings[0].value, relax.const(15, "int32")
    )


def test_one_size_as_a_result() -> None:
    graph = fx.symbolic_trace(module_of(lambda x: torch.ops.aten.sym_size.int(x, 1)))
    size = from_fx(graph, [((1, 3, 4), "float32")])["main"]
    tvm.ir.assert_structural_equal(
        size.body.blocks[0].bindings[0].value, relax.const(3, "int32")
    )


def test_the_frobenius_norm_is_a_root() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(inp_0: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 1), dtype="float32"):
            with R.dataflow():
                lv = R.multiply(inp_0, inp_0)
                lv1 = R.sum(lv, axis=[1], keepdims=True)
                lv2 = R.sqrt(lv1)
                gv = lv2
                R.output(gv)
            return gv

    graph = fx.symbolic_trace(module_of(lambda x: torch.norm(x, p="fro", dim=1, keepdim=True)))
    tvm.ir.assert_structural_equal(from_fx(graph, [((2, 3), "float32")]), Expected)


def test_a_copy_of_one_shape_is_what_is_copied() -> None:
    graph = fx.symbolic_trace(module_of(lambda x, y: x.copy_(y), 2))
    copied = from_fx(graph, [((2, 3), "float32"), ((2, 3), "float32")])["main"]
    assert copied.body.blocks[0].bindings[0].value.same_as(copied.params[1])


def test_symbolic_shapes() -> None:
    n = tvm.tir.SizeVar("n", "int64")
    graph = fx.symbolic_trace(module_of(lambda x: x.view(x.size(0), -1).softmax(-1)))
    mod = from_fx(graph, [((n, 2, 3), "float32")])
    x = torch.randn(4, 2, 3)
    assert_same(interpreted(mod, [x]), x.view(4, -1).softmax(-1))


def test_writes_through() -> None:
    def func(x: Any) -> Any:
        y = x * 2
        y += 1
        nn.functional.relu(y, True)
        return y.add_(1)

    x = torch.randn(3, 4)
    mod = from_fx(fx.symbolic_trace(module_of(func)), [((3, 4), "float32")])
    assert_same(interpreted(mod, [x]), func(x))


def test_writes_to_views() -> None:
    """A write to a part is refused where the whole is read afterwards, and only there."""

    def refused(x: Any) -> Any:
        y = x * 2
        y[0].add_(1)
        return y

    def by_method(x: Any) -> Any:
        y = x * 2
        y.transpose(0, 1).select(0, 1).mul_(3)
        return y.sum()

    def diagonal(x: Any) -> Any:
        y = x * 2
        y.diagonal().fill_(0.0)
        return y

    for func in (refused, by_method, diagonal):
        graph = fx.symbolic_trace(module_of(func))
        with pytest.raises(tvm.error.TVMError, match="a write to a view"):
            from_fx(graph, [((3, 4), "float32")])

    def read_before(x: Any) -> Any:
        y = x * 2
        total = y.sum()
        part = y[1:]
        part += 1
        return part * total + y.size(0)

    def field(x: Any) -> Any:
        both = torch.topk(x, 2)
        return both[0].mul_(2), both[1]

    def itself(x: Any) -> Any:
        y = x * 2
        y.contiguous().detach().add_(1)
        return y

    def copy(x: Any) -> Any:
        y = x * 2
        return y.clone().add_(1), y

    x = torch.randn(3, 4)
    for func in (read_before, field, itself, copy):
        mod = from_fx(fx.symbolic_trace(module_of(func)), [((3, 4), "float32")])
        assert_same(interpreted(mod, [x]), func(x))


def test_own_converters() -> None:
    def convert_i0(node: Any, importer: TorchFXImporter) -> relax.Var:
        (x,) = importer.retrieve_args(node)
        assert tuple(importer.shape_of(x).values) == (3,)
        return importer.block_builder.emit(relax.op.exp(x))

    def convert_module(node: Any, importer: TorchFXImporter) -> relax.Var:
        return importer.block_builder.emit(relax.op.negative(importer.env[node.args[0]]))

    model = nn.Sequential(nn.ReLU(), nn.Tanh())
    graph = fx.symbolic_trace(model)
    mod = from_fx(graph, [((3,), "float32")], custom_convert_map={nn.Tanh: convert_module})
    assert_same(interpreted(mod, [torch.ones(3)]), -torch.ones(3))
    graph = fx.symbolic_trace(module_of(torch.special.i0))
    name = next(node.target.__name__ for node in graph.graph.nodes if node.op == "call_function")
    mod = from_fx(graph, [((3,), "float32")], custom_convert_map={name: convert_i0})
    assert_same(interpreted(mod, [torch.ones(3)]), torch.ones(3).exp())


def test_what_is_refused() -> None:
    graph = fx.symbolic_trace(module_of(torch.relu))
    with pytest.raises(AssertionError, match="has no entry in input_info"):
        from_fx(graph, [])
    with pytest.raises(TypeError, match="a shape and a data type"):
        from_fx(graph, [(3,)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"torch\.fx\.GraphModule"):
        from_fx(3, [])
    with pytest.raises(NotImplementedError, match="complex64"):
        from_fx(graph, [((3,), "complex64")])


def test_unsupported_modules_and_methods_are_listed_at_once() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.TransformerEncoderLayer(8, 2)

        def forward(self, x: Any) -> Any:
            return torch.special.airy_ai(self.layer(x).igamma(x))

    with pytest.raises(NotImplementedError) as caught:
        from_fx(fx.symbolic_trace(Model()), [((2, 3, 8), "float32")])
    for name in ("TransformerEncoderLayer", "igamma", "special_airy_ai"):
        assert name in str(caught.value)
