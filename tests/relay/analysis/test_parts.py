"""Parts of programs on their own: kernels, values on the way, fake quantization, calibration."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import module
from tvm import relay
from tvm.ir.op import OPS
from tvm.relay import analysis

pytestmark = pytest.mark.pure


def test_fused_functions_once_each() -> None:
    x, w = relay.var("x", shape=(2, 2)), relay.var("w", shape=(2, 2))
    body = relay.nn.dense(relay.nn.dense(x, w), w)
    found = analysis.extract_fused_functions(module(body, x, w))
    assert len(found) == 1, "both kernels are equal"
    (func,) = found.values()
    assert func.attrs["Primitive"] == 1


def test_fused_functions_are_those_of_main() -> None:
    mod = relay.fromtext(
        '#[version = "0.0.5"]\n'
        "def @f(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { sqrt(%x) }\n"
        "def @main(%x: Tensor[(4), float32]) { @f(exp(%x)) }"
    )
    (func,) = analysis.extract_fused_functions(mod).values()
    assert func.body.op.name == "exp"


def test_a_value_on_the_way() -> None:
    x = relay.var("x", shape=(2,))
    mod = module(relay.tanh(relay.exp(x)), x)
    part = analysis.extract_intermdeiate_expr(mod, 0)
    assert part["main"].body.op.name == "exp"
    written = tvm.IRModule()
    written["main"] = relay.Function([x], relay.exp(x))
    tvm.ir.assert_structural_equal(part, written)
    with pytest.raises(tvm.TVMError, match=r"no call 7; legal: 0 \.\.\. 1"):
        analysis.extract_intermdeiate_expr(mod, 7)


def test_transposed_weights() -> None:
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(3, 4))
    body = relay.nn.dense(x, relay.transpose(w))
    assert analysis.search_fc_transpose(relay.Function([x, w], body)) == ["w"]


def test_operators_between_marks_of_quantization() -> None:
    x = relay.var("x", shape=(4, 4), dtype="int8")
    one, zero = relay.const(1.0), relay.const(0)
    real = relay.qnn.op.dequantize(x, one, zero)
    y = relay.nn.relu(relay.nn.max_pool1d(relay.reshape(real, (1, 4, 4)), 2))
    body = relay.qnn.op.quantize(y, one, zero)
    mod = module(relay.exp(relay.qnn.op.dequantize(body, one, zero)), x)
    assert analysis.list_fake_quantized_op_freqs(mod) == {
        "reshape": 1, "nn.max_pool1d": 1, "nn.relu": 1,
    }  # fmt: skip
    v = relay.var("v", shape=(4,))
    mod = module(relay.qnn.op.quantize(relay.exp(v), one, zero), v)
    assert analysis.list_fake_quantized_op_freqs(mod) == {}, "a real number comes in"


def test_what_goes_into_outside_compilers() -> None:
    x = relay.var("x", shape=(2,))
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    inside = end(relay.exp(begin(relay.tanh(x), "own")), "own")
    mod = relay.transform.PartitionGraph()(module(relay.negative(inside), x))
    given = np.array([0.25, 1.0], "float32")
    found = analysis.get_calibration_data(mod, {"x": given})
    ((var, values),) = found.items()
    assert "Compiler" in mod[var].attrs
    np.testing.assert_allclose(values["inputs"][0].numpy(), np.tanh(given), rtol=1e-5)
    np.testing.assert_allclose(values["outputs"][0].numpy(), np.exp(np.tanh(given)), rtol=1e-5)


def test_regions_are_counted() -> None:
    x = relay.var("x", shape=(2,))
    begin, end = relay.annotation.compiler_begin, relay.annotation.compiler_end
    body = end(relay.exp(begin(end(relay.tanh(begin(x, "a")), "a"), "b")), "b")
    ops = [relay.op.get(f"annotation.compiler_{mark}") for mark in ("begin", "end")]
    regions = analysis.AnnotatedRegionSet(body, *ops)
    assert len(regions) == 2
    assert [region.target for region in regions] == ["a", "b"]


def test_missing_spans(capsys: pytest.CaptureFixture[str]) -> None:
    x = relay.var("x", shape=(2,), span=relay.Span(relay.SourceName("s"), 1, 1, 1, 1))
    check = relay.SpanCheck()
    check.visit(relay.exp(x))
    assert [type(e) for e in check.missing] == [relay.Call]
    assert "found null span in Call" in capsys.readouterr().out


def test_values_are_shown_on_the_way() -> None:
    seen: list[tvm.runtime.Tensor] = []
    x = relay.var("x", shape=(), dtype="int32")
    func = relay.Function([x], relay.add(relay.op.debug(x, debug_func=seen.append), x))
    assert relay.create_executor("debug").evaluate(func)(np.int32(3)).numpy() == 6
    assert [int(value.numpy()) for value in seen] == [3]


def test_operators_of_users_have_types() -> None:
    op = relay.op.op.register("tests.widen")
    try:
        op.add_type_rel("widened", lambda types, attrs: relay.TensorType((*types[0].shape, 2)))
        x = relay.var("x", shape=(3,))
        made = relay.transform.InferTypeLocal(relay.Call(op, [x]))
        assert made == relay.TensorType((3, 2))
        op.add_type_rel("Identity")
        assert relay.transform.InferTypeLocal(relay.Call(op, [x])) == relay.TensorType((3,))
        with pytest.raises(tvm.TVMError, match="no relation 'Nothing'; legal: Identity"):
            op.add_type_rel("Nothing")
    finally:
        OPS.remove(op.name)


def test_constructors_by_name() -> None:
    mod = tvm.IRModule()
    mod.import_from_std("prelude.rly")
    assert mod.get_constructor("List", "Cons").name_hint == "Cons"
    with pytest.raises(tvm.TVMError, match="List has no constructor 'Con'; did you mean 'Cons'"):
        mod.get_constructor("List", "Con")


def test_extents_of_joined_tensors() -> None:
    n = tvm.tir.Var("n", "int32")
    a, b = relay.var("a", shape=(n, 2)), relay.var("b", shape=(n, 2))
    found = relay.transform.InferTypeLocal(relay.concatenate([a, b], 0))
    tvm.ir.assert_structural_equal(found, relay.TensorType((n + n, 2)))
    c = relay.var("c", shape=(relay.Any(), 2))
    found = relay.transform.InferTypeLocal(relay.concatenate([c, relay.var("d", shape=(3, 2))], 0))
    assert isinstance(found.shape[0], relay.Any)
