"""Exported programs: the modules that come out, networks, dynamic shapes, weights, errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import OpAttributeUnImplemented, OpNotImplemented
from tvm.relax.frontend import detach_params
from tvm.relax.frontend.torch import from_exported_program
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

from .networks import NAMES, network
from .running import assert_same, compiled, exported, interpreted, module_of

torch = pytest.importorskip("torch")
nn = torch.nn
F = nn.functional


def assert_becomes(model: Any, args: Any, expected: Any, **options: Any) -> None:
    """The program becomes this module, with the model's weights bound by their names there."""
    weights = {name.replace(".", "_"): p.detach().numpy() for name, p in model.named_parameters()}
    weights |= {name.replace(".", "_"): b.numpy() for name, b in model.named_buffers()}
    names = {param.name_hint for param in expected["main"].params}
    bound = {name: value for name, value in weights.items() if name in names}
    wanted = relax.transform.BindParams("main", bound)(expected)
    found = from_exported_program(torch.export.export(model, args), **options)
    tvm.ir.assert_structural_equal(found, wanted)


# --- modules ---


def test_a_convolution_with_a_bias() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((1, 3, 10, 10), dtype="float32"),
            weight: R.Tensor((6, 3, 7, 7), dtype="float32"),
            bias: R.Tensor((6,), dtype="float32"),
        ) -> R.Tuple(R.Tensor((1, 6, 4, 4), dtype="float32")):
            with R.dataflow():
                lv = R.nn.conv2d(
                    x, weight, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1],
                    data_layout="NCHW", kernel_layout="OIHW", out_layout="NCHW",
                    out_dtype="float32",
                )  # fmt: skip
                lv1 = R.reshape(bias, R.shape([1, 6, 1, 1]))
                lv2 = R.add(lv, lv1)
                gv = (lv2,)
                R.output(gv)
            return gv

    assert_becomes(nn.Conv2d(3, 6, 7), (torch.randn(1, 3, 10, 10),), Expected)


def test_a_linear_layer() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((1, 10), dtype="float32"),
            weight: R.Tensor((7, 10), dtype="float32"),
            bias: R.Tensor((7,), dtype="float32"),
        ) -> R.Tuple(R.Tensor((1, 7), dtype="float32")):
            with R.dataflow():
                lv = R.permute_dims(weight, axes=None)
                lv1 = R.matmul(x, lv, out_dtype="float32")
                lv2 = R.add(lv1, bias)
                gv = (lv2,)
                R.output(gv)
            return gv

    assert_becomes(nn.Linear(10, 7), (torch.randn(1, 10),), Expected)


def test_batch_norm_in_evaluation() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((1, 3, 4, 4), dtype="float32"),
            weight: R.Tensor((3,), dtype="float32"),
            bias: R.Tensor((3,), dtype="float32"),
            running_mean: R.Tensor((3,), dtype="float32"),
            running_var: R.Tensor((3,), dtype="float32"),
        ) -> R.Tuple(R.Tensor((1, 3, 4, 4), dtype="float32")):
            with R.dataflow():
                lv = R.nn.batch_norm(
                    x, weight, bias, running_mean, running_var, axis=1, epsilon=1e-5,
                    momentum=0.1, training=False,
                )  # fmt: skip
                lv1 = lv[0]
                gv = (lv1,)
                R.output(gv)
            return gv

    assert_becomes(nn.BatchNorm2d(3).eval(), (torch.randn(1, 3, 4, 4),), Expected)


def test_an_embedding_of_rows() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((2, 3), dtype="int64"), weight: R.Tensor((10, 4), dtype="float32")
        ) -> R.Tuple(R.Tensor((2, 3, 4), dtype="float32")):
            with R.dataflow():
                lv = R.astype(x, dtype="int32")
                lv1 = R.reshape(lv, R.shape([6]))
                lv2 = R.take(weight, lv1, axis=0)
                lv3 = R.reshape(lv2, R.shape([2, 3, 4]))
                gv = (lv3,)
                R.output(gv)
            return gv

    assert_becomes(nn.Embedding(10, 4), (torch.zeros(2, 3, dtype=torch.int64),), Expected)


def test_attention_swaps_heads_and_lengths() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            q: R.Tensor((2, 3, 5, 8), dtype="float32"),
            k: R.Tensor((2, 3, 6, 8), dtype="float32"),
            v: R.Tensor((2, 3, 6, 8), dtype="float32"),
        ) -> R.Tuple(R.Tensor((2, 3, 5, 8), dtype="float32")):
            with R.dataflow():
                lv = R.permute_dims(q, axes=[0, 2, 1, 3])
                lv1 = R.permute_dims(k, axes=[0, 2, 1, 3])
                lv2 = R.permute_dims(v, axes=[0, 2, 1, 3])
                lv3 = R.nn.attention(lv, lv1, lv2)
                lv4 = R.permute_dims(lv3, axes=[0, 2, 1, 3])
                gv = (lv4,)
                R.output(gv)
            return gv

    args = tuple(torch.randn(2, 3, n, 8) for n in (5, 6, 6))
    assert_becomes(module_of(F.scaled_dot_product_attention, 3), args, Expected)


def test_unbind_is_a_split() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def main(
            x: R.Tensor((2, 3), dtype="float32"),
        ) -> R.Tuple(R.Tensor((3,), dtype="float32"), R.Tensor((3,), dtype="float32")):
            with R.dataflow():
                lv = R.split(x, indices_or_sections=2, axis=0)
                lv1 = lv[0]
                lv2 = R.squeeze(lv1, axis=[0])
                lv3 = lv[1]
                lv4 = R.squeeze(lv3, axis=[0])
                lv5 = (lv2, lv4)
                lv6 = lv5[0]
                lv7 = lv5[1]
                gv = (lv6, lv7)
                R.output(gv)
            return gv

    assert_becomes(module_of(torch.unbind), (torch.randn(2, 3),), Expected)


def test_forms_of_the_result() -> None:
    program = exported(lambda x: (x + 1,), torch.ones(2))
    plain = from_exported_program(program)["main"]
    assert isinstance(plain.ret_struct_info, relax.TupleStructInfo)
    alone = from_exported_program(program, unwrap_unit_return_tuple=True)["main"]
    assert isinstance(alone.ret_struct_info, relax.TensorStructInfo)
    two = exported(lambda x: (x + 1, x * 2), torch.ones(2))
    unbound = from_exported_program(two, no_bind_return_tuple=True)["main"]
    assert isinstance(unbound.body.body, relax.Tuple)
    mod = tvm.IRModule({"main": unbound})
    assert_same(interpreted(mod, [torch.ones(2)]), [torch.full((2,), 2.0)] * 2)


# --- networks ---


@pytest.mark.parametrize("name", NAMES)
def test_networks(name: str) -> None:
    model, args = network(name)
    mod = from_exported_program(torch.export.export(model, args))
    assert_same(interpreted(mod, args), model(*args))


SOON = ("mobilenet", "decoder")
COMPILED = [pytest.param(n, marks=() if n in SOON else pytest.mark.long) for n in NAMES]


@pytest.mark.cpu
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_networks(name: str) -> None:
    model, args = network(name)
    run = compiled(from_exported_program(torch.export.export(model, args)))
    assert_same(run(*args), model(*args))


@pytest.mark.cpu
@pytest.mark.parametrize("name", ["mobilenet", pytest.param("recurrent", marks=pytest.mark.long)])
def test_networks_with_any_batch(name: str) -> None:
    model, args = network(name)
    batch = torch.export.Dim("batch", min=1, max=16)
    shapes = tuple({0: batch} for _ in args)
    run = compiled(from_exported_program(torch.export.export(model, args, dynamic_shapes=shapes)))
    for count in (1, 3):
        more = tuple(torch.cat([arg] * count) for arg in args)
        assert_same(run(*more), model(*more))


def test_a_decoder_with_any_length() -> None:
    model, (tokens, held) = network("decoder")
    length = torch.export.Dim("length", min=2, max=31)
    program = torch.export.export(model, (tokens, held), dynamic_shapes=({1: length}, {1: length}))
    short = tokens[:, :4], held[:, :4]
    assert_same(interpreted(from_exported_program(program), short), model(*short))


# --- dynamic shapes ---


def test_ranges_are_attributes() -> None:
    batch = torch.export.Dim("batch", min=1, max=64)
    args = (torch.ones(8, 4), torch.ones(8, 4))
    program = exported(torch.add, *args, dynamic_shapes=({0: batch}, {0: batch}))
    main = from_exported_program(program)["main"]
    (symbol,) = main.attrs["tir_var_upper_bound"]

    @R.function
    def expected(
        x: R.Tensor(("n", 4), dtype="float32"), y: R.Tensor(("n", 4), dtype="float32")
    ) -> R.Tuple(R.Tensor(("n", 4), dtype="float32")):
        n = T.int64(is_size_var=True)
        R.func_attr({"global_symbol": "main"})
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32") = R.add(x, y)
            gv: R.Tuple(R.Tensor((n, 4), dtype="float32")) = (lv,)
            R.output(gv)
        return gv

    bounds = {"tir_var_lower_bound": {symbol: 1}, "tir_var_upper_bound": {symbol: 64}}
    for name, value in bounds.items():
        expected = expected.with_attr(name, value)
    tvm.ir.assert_structural_equal(main, expected, map_free_vars=True)


def test_an_open_range_has_no_attribute() -> None:
    shapes = ({0: torch.export.Dim("batch")},)
    program = exported(torch.sin, torch.ones(8, 4), dynamic_shapes=shapes)
    main = from_exported_program(program)["main"]
    assert set(main.attrs.keys()) == {"global_symbol"}


def test_a_size_that_is_part_of_a_sum() -> None:
    batch = torch.export.Dim("batch", min=1, max=64)
    shapes = ({0: batch}, {0: batch + 1})
    args = torch.ones(8, 4), torch.ones(9, 4)
    program = exported(lambda x, y: x + y[:-1], *args, dynamic_shapes=shapes)
    mod = from_exported_program(program)
    assert_same(interpreted(mod, [torch.ones(3, 4), torch.ones(4, 4)]), torch.full((3, 4), 2.0))


def test_a_size_that_is_only_there_doubled() -> None:
    half = torch.export.Dim("half", min=2, max=9)
    shapes = ({0: 2 * half},)
    program = exported(lambda x: x.reshape(2, -1).sum(0), torch.ones(8), dynamic_shapes=shapes)
    mod = from_exported_program(program)
    ((name, upper),) = mod["main"].attrs["tir_var_upper_bound"].items()
    assert name.endswith("_size")
    assert upper == 18
    assert_same(interpreted(mod, [torch.ones(6)]), torch.full((3,), 2.0))


def test_sizes_in_arithmetic() -> None:
    shapes = ({0: torch.export.Dim("n", min=2, max=64)},)
    program = exported(lambda x: x * x.shape[0] + x.new_full((x.shape[0] * 2 // 2, 4), 1.0),
                       torch.ones(8, 4), dynamic_shapes=shapes)  # fmt: skip
    found = interpreted(from_exported_program(program), [torch.ones(3, 4)])
    assert_same(found, torch.full((3, 4), 4.0))


# --- weights, buffers, writes ---


def test_parameters_may_stay_inputs() -> None:
    model, args = network("decoder")
    program = torch.export.export(model, args)
    mod, params = detach_params(from_exported_program(program, keep_params_as_input=True))
    assert mod["main"].attrs["num_input"] == 2
    # tied weights are one parameter each
    assert len(mod["main"].params) == 2 + len(list(model.named_parameters(remove_duplicate=False)))
    weights = [torch.from_numpy(p.numpy()) for p in params["main"]]
    assert_same(interpreted(mod, [*args, *weights]), model(*args))


def test_later_changes_of_the_model_do_not_show() -> None:
    model = nn.Linear(3, 2)
    mod = from_exported_program(torch.export.export(model, (torch.ones(1, 3),)))
    wanted = model(torch.ones(1, 3)).detach().numpy().copy()
    with torch.no_grad():
        model.weight.zero_()
    np.testing.assert_allclose(interpreted(mod, [torch.ones(1, 3)])[0], wanted, rtol=1e-6)


def test_writes_to_parts_of_a_tensor() -> None:
    def func(x: Any) -> Any:
        y = x.clone()
        y[0] = 7.0
        y[:, 1] *= 2
        row = y[1]
        row += 1
        return y

    x = torch.randn(3, 4)
    assert_same(interpreted(from_exported_program(exported(func, x)), [x]), func(x))


def test_writes_that_nobody_else_sees_need_no_rewriting() -> None:
    def func(x: Any, y: Any) -> Any:
        z = x * 2
        z += y
        torch.relu_(z)
        return z, z + 1

    args = torch.randn(3), torch.randn(3)
    mod = from_exported_program(exported(func, *args))
    assert_same(interpreted(mod, args), func(*args))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.total.add_(x)
        return self.total * 2


def test_a_changed_buffer_is_named() -> None:
    program = torch.export.export(Counter(), (torch.ones(3),))
    with pytest.warns(UserWarning, match="the model changes total; the new values are not"):
        mod = from_exported_program(program)
    assert_same(interpreted(mod, [torch.ones(3)]), torch.full((3,), 2.0))


def test_a_functional_program_gives_changed_buffers_first() -> None:
    program = torch.export.export(Counter(), (torch.ones(3),)).run_decompositions({})
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        mod = from_exported_program(program)
    assert_same(interpreted(mod, [torch.ones(3)]), [torch.ones(3), torch.full((3,), 2.0)])


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_short_floats(name: str) -> None:
    model = nn.Linear(4, 3).to(getattr(torch, name))
    x = torch.randn(2, 4).to(getattr(torch, name))
    mod = from_exported_program(torch.export.export(model, (x,)))
    info = mod["main"].ret_struct_info.fields[0]
    assert str(info.dtype) == name
    if name == "float16":
        assert_same(interpreted(mod, [x]), model(x))


# --- graphs in graphs, and other inputs ---


def test_a_part_without_gradients_is_inlined() -> None:
    def func(x: Any) -> Any:
        with torch.no_grad():
            y = x * 2
        return y + x

    mod = from_exported_program(exported(func, torch.ones(3)))
    assert_same(interpreted(mod, [torch.ones(3)]), torch.full((3,), 3.0))


def test_nested_inputs_and_numbers() -> None:
    class Nested(nn.Module):
        def forward(self, parts: Any, factor: int) -> Any:
            return parts["a"] + parts["b"][0] * factor

    program = torch.export.export(Nested(), ({"a": torch.ones(2), "b": [torch.ones(2)]}, 3))
    mod = from_exported_program(program)
    assert len(mod["main"].params) == 2
    assert_same(interpreted(mod, [torch.ones(2), torch.ones(2)]), torch.full((2,), 4.0))


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_decomposed_networks(name: str) -> None:
    model, args = network(name)
    mod = from_exported_program(torch.export.export(model, args).run_decompositions())
    assert_same(interpreted(mod, args), model(*args))


# --- errors ---


def test_all_unsupported_operators_are_listed_with_their_lines() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.linalg.eigvals(x).real
            return y + torch.special.bessel_y0(x)  # the line of the second

    with pytest.raises(OpNotImplemented) as caught:
        from_exported_program(torch.export.export(Model(), (torch.ones(3, 3),)))
    text = str(caught.value)
    names = "['linalg_eigvals.default', 'special_bessel_y0.default']"
    assert f"Unsupported function types {names}" in text
    assert "test_exported_program_translator.py" in text
    assert "the line of the second" in text
    assert isinstance(caught.value, AssertionError)


def test_a_refused_option_names_the_line() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.native_dropout(x, 0.5, True)[0]

    with pytest.raises(OpAttributeUnImplemented) as caught:
        from_exported_program(torch.export.export(Model(), (torch.ones(3),)))
    assert "node 'native_dropout' (native_dropout.default) cannot be converted" in str(caught.value)
    assert "return torch.native_dropout(x, 0.5, True)[0]" in str(caught.value)


def test_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="ExportedProgram"):
        from_exported_program(nn.Linear(2, 2))  # type: ignore[arg-type]


def test_bindings_carry_the_lines_they_came_from() -> None:
    class Model(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.sin(x) + 1

    mod = from_exported_program(torch.export.export(Model(), (torch.ones(2),)))
    spans = [binding.span for binding in mod["main"].body.blocks[0].bindings[:2]]
    assert all(span.source_name.name == __file__ for span in spans)


def test_a_thousand_nodes() -> None:
    def func(x: Any) -> Any:
        for _ in range(500):
            x = torch.relu(x) + 1.0
        return x

    mod = from_exported_program(exported(func, torch.zeros(2)))
    assert len(mod["main"].body.blocks[0].bindings) == 1001
    assert_same(interpreted(mod, [torch.zeros(2)]), torch.full((2,), 500.0))


# --- operators, written as TVM's importer writes them ---


def _body(function: Any, *args: Any) -> list[str]:
    """The operators of the program, a text for each binding but the last."""

    class Model(nn.Module):  # type: ignore[name-defined, misc]
        def forward(self, *inputs: Any) -> Any:
            return function(*inputs)

    (block,) = from_exported_program(torch.export.export(Model(), args))["main"].body.blocks
    return [str(binding.value) for binding in block.bindings[:-1]]


ROLLED = [
    "R.strided_slice(inputs_0, (R.prim_value(0),), (R.prim_value(0),), (R.prim_value(3),), "
    "(R.prim_value(1),), assume_inbound=False)",
    "R.strided_slice(inputs_0, (R.prim_value(0),), (R.prim_value(3),), (R.prim_value(4),), "
    "(R.prim_value(1),), assume_inbound=False)",
    "R.concat((lv1, lv), axis=0)",
]


@pytest.mark.parametrize(
    ("function", "shape", "wanted"),
    [
        (
            lambda x: torch.clamp(x, min=0.5),
            (2, 3),
            ['R.clip(inputs_0, R.prim_value(T.float64(0.5)), R.prim_value(T.float64("inf")))'],
        ),
        (
            lambda x: F.hardtanh(x),
            (2, 3),
            ["R.clip(inputs_0, R.prim_value(T.float64(-1.0)), R.prim_value(T.float64(1.0)))"],
        ),
        (lambda x: torch.roll(x, 1, 0), (4, 2), ROLLED),
        (lambda x: torch.squeeze(x), (3, 1, 4), ["R.squeeze(inputs_0, axis=None)"]),
        (
            lambda x: torch.linspace(0, 1, steps=9),
            (2,),
            [
                "R.arange(R.prim_value(0), R.prim_value(T.float32(1.0625)), "
                'R.prim_value(T.float32(0.125)), dtype="float32")'
            ],
        ),
        (
            lambda x: F.celu(x),
            (2,),
            [
                "R.exp(inputs_0)",
                'R.divide(lv, R.const(1.0, "float32"))',
                'R.subtract(lv1, R.const(1.0, "float32"))',
                'R.minimum(R.const(0.0, "float32"), lv2)',
                'R.multiply(R.const(1.0, "float32"), lv3)',
                "R.nn.relu(inputs_0)",
                "R.add(lv4, lv5)",
            ],
        ),
    ],
)
def test_operators(function: Any, shape: tuple[int, ...], wanted: list[str]) -> None:
    assert _body(function, torch.zeros(shape)) == wanted


def test_casts_of_autocast_are_made() -> None:
    layer = nn.Linear(4, 5)

    def func(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inner = layer(x).relu()
        with torch.autocast("cpu", enabled=False):
            outer = x @ x.T
        return inner.float(), inner, outer

    class Model(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any) -> Any:
            return func(x)

    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    found = compiled(from_exported_program(exported(Model(), x)))(x)
    with torch.no_grad():
        wide, narrow, outer = func(x)
    assert [str(part.dtype) for part in found] == ["float32", "bfloat16", "float32"]
    assert narrow.dtype == torch.bfloat16
    np.testing.assert_allclose(found[0].numpy(), wide.numpy(), rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(found[2].numpy(), outer.numpy(), rtol=1e-4, atol=1e-5)
