"""What converters of models share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.error import OpNotImplemented
from tvm.relay.frontend import common

pytestmark = pytest.mark.pure
torch = pytest.importorskip("torch")
RANDOM = np.random.default_rng(0)


def array(*shape: int) -> Any:
    return (RANDOM.random(shape) - 0.5).astype("float32")


def value(expr: Any) -> Any:
    expr = expr.astuple() if isinstance(expr, relay.expr.TupleWrapper) else expr
    found = common.infer_value(expr, {})
    return [f.numpy() for f in found] if not hasattr(found, "numpy") else found.numpy()


def test_questions() -> None:
    x = relay.var("x", shape=(2, relay.Any(), 4))
    assert common.infer_shape(relay.exp(x))[::2] == (2, 4)
    assert isinstance(common.infer_shape(x)[1], relay.Any)
    assert common.infer_type(relay.sum(x)).checked_type == relay.TensorType(())
    assert common.infer_channels(relay.var("w", shape=(5, 3, 1, 1))) == 5
    assert common.infer_channels(relay.var("w", shape=(5, 3, 1, 1)), transpose=True) == 3
    assert common.get_name(x) == "x"
    folded = common.fold_constant(relay.add(relay.const(1.0), relay.const(2.0)))
    assert folded.data.numpy() == 3
    whole = common.shape_of(relay.var("y", shape=(2, 3, 4)), start=1)
    assert whole.data.numpy().tolist() == [3, 4]
    assert common.shape_of(x, "int32", 0, -1).op.name == "strided_slice"
    assert common.infer_shape(common.ensure_scalar_shape(relay.const([[3.0]]))) == ()


def test_values() -> None:
    x = relay.var("x", shape=(2,))
    total = relay.sum(x) + relay.const(1.0)
    given = {"x": tvm.nd.array(np.full(2, 3, "float32"))}
    assert common.infer_value(total, given).numpy() == 7
    assert common.infer_value_simulated(total, {}).numpy() == 3
    with pytest.raises(AssertionError, match="must be available"):
        common.infer_value(total, {})
    assert common.try_infer_value(total) == (total, False)
    assert common.try_infer_value(total, parameters=given, on_success=float) == (7.0, True)
    assert common.try_infer_value(total, on_failure=lambda: "none") == ("none", False)
    known = common.try_resolve_var_to_const(x, given)
    assert known.data.numpy().tolist() == [3, 3]
    assert common.try_resolve_var_to_const(total, given) is total


def test_attributes_as_texts() -> None:
    attrs = common.StrAttrsDict({
        "pad": "(1, 2)", "pairs": "((1, 2), (3, 4))", "rate": "0.5", "no_bias": "True", "n": "None",
    })  # fmt: skip
    assert attrs.get_int_tuple("pad") == (1, 2)
    assert attrs.get_tuple_tuple_int("pairs") == ((1, 2), (3, 4))
    assert attrs.get_float("rate") == 0.5
    assert attrs.get_bool("no_bias")
    assert attrs.get_int("n") is None
    assert attrs.get_str("mode", "same") == "same"
    with pytest.raises(AttributeError, match="Required attribute mode not found"):
        attrs.get_str("mode")


def test_converters_of_attributes() -> None:
    x = relay.var("x", shape=(1, 2, 4, 4))
    pool = common.AttrCvt(
        "max_pool2d", transforms={"kernel": "pool_size", "stride": ("strides", (2, 2))},
        ignores=["name"], excludes=["bad"], extras={"ceil_mode": True},
    )  # fmt: skip
    made = pool([x], {"kernel": (2, 2), "name": "p"})
    assert made.op.name == "nn.max_pool2d"
    assert made.attrs.pool_size == made.attrs.strides == (2, 2)
    assert made.attrs.ceil_mode
    with pytest.raises(NotImplementedError, match="Attribute bad in operator max_pool2d"):
        pool([x], {"bad": 1})
    assert common.Renamer("relu")([x], {}).op.name == "nn.relu"
    with pytest.raises(OpNotImplemented, match="Unable to map op_name nothing to relay"):
        common.get_relay_op("nothing")


def test_tables_of_expressions() -> None:
    table = common.ExprTable()
    var = table.new_const(array(2, 3), source_name="node")
    assert common.infer_shape(var) == (2, 3)
    assert var.span.source_name.name == "node"
    table.set_expr("y", var)
    table.set_expr("y", None)
    assert table.get_expr("y") is var
    assert table.has_expr("y")
    assert list(table.params) == [var.name_hint]


def test_spans_reach_what_has_none() -> None:
    x = relay.var("x", shape=(2,))
    inner = common.set_span(relay.exp(x), "first")
    outer = common.set_span(relay.add(relay.tanh(inner), relay.const(1.0)), "second")
    names = {
        e.op.name: e.span.source_name.name
        for e in (outer, outer.args[0], outer.args[0].args[0])
    }
    assert names == {"add": "second", "tanh": "second", "exp": "first"}
    assert outer.args[1].span.source_name.name == "second"
    assert inner.args[0].span is None


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_padding_that_lets_windows_cover(mode: str) -> None:
    x = relay.const(array(1, 1, 5, 8))
    padded = value(common.autopad(x, (2, 3), (4, 2), mode=mode))
    assert padded.shape == (1, 1, 8, 8)
    inside = padded[0, 0, 1:6] if mode == "SAME_UPPER" else padded[0, 0, 2:7]
    np.testing.assert_array_equal(inside, x.data.numpy()[0, 0])


def test_unbind() -> None:
    given = array(3, 2)
    for axis in (0, 1, -1):
        parts = value(common.unbind(relay.const(given), axis))
        np.testing.assert_array_equal(np.stack(parts, axis), given)
    with pytest.raises(AttributeError, match="Please check input dim"):
        common.unbind(relay.const(given), 2)


SIZES = {"x": 3, "h": 4}


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_cells_against_torch(kind: str, backwards: bool) -> None:
    gates = {"rnn": 1, "gru": 3, "lstm": 4}[kind]
    layer = getattr(torch.nn, kind.upper())(3, 4)
    w_inp, w_hid, b_inp, b_hid = (p.detach().numpy() for p in layer.parameters())
    assert w_inp.shape == (gates * 4, 3)
    steps, h, c = array(5, 2, 3), array(2, 4), array(2, 4)
    consts = [relay.const(a) for a in (w_inp, w_hid, b_inp, b_hid)]
    seq = [relay.const(s) for s in steps]
    if kind == "rnn":
        outs, last = common.rnn_cell(seq, relay.const(h), *consts, backwards=backwards)
    elif kind == "gru":
        outs, last = common.gru_cell(seq, relay.const(h), *consts, backwards=backwards)
    else:
        outs, last, _ = common.lstm_cell(
            seq, relay.const(h), relay.const(c), *consts, backwards=backwards
        )
    state = (torch.from_numpy(h)[None], torch.from_numpy(c)[None]) if kind == "lstm" else (
        torch.from_numpy(h)[None])  # fmt: skip
    order = steps[::-1].copy() if backwards else steps
    wanted = layer(torch.from_numpy(order), state)[0].detach().numpy()
    found = value(relay.Tuple([*outs, last]))
    np.testing.assert_allclose(found[-1], wanted[-1], rtol=1e-4, atol=1e-5)
    ordered = wanted[::-1] if backwards else wanted
    np.testing.assert_allclose(np.stack(found[:-1]), ordered, rtol=1e-4, atol=1e-5)


def test_gates_after_the_reset_and_sequences_that_end() -> None:
    seq = [relay.const(a) for a in array(3, 2, 3)]
    h = array(2, 4)
    weights = [relay.const(a) for a in (array(12, 3), array(12, 4), array(12), array(12))]
    plain, _ = common.gru_cell(seq, relay.const(h), *weights, linear_before_reset=False)
    ended, last = common.gru_cell(
        seq, relay.const(h), *weights, linear_before_reset=False,
        sequence_lens=relay.const(np.array([1, 3], "int32")),
    )  # fmt: skip
    full, cut = value(relay.Tuple(plain)), value(relay.Tuple([*ended, last]))
    np.testing.assert_allclose(cut[0], full[0], rtol=1e-5)
    assert not cut[1][0].any()
    np.testing.assert_allclose(cut[-1], np.stack([full[0][0], full[2][1]]), rtol=1e-5)


def test_projected_states_with_peepholes() -> None:
    seq = [relay.const(a) for a in array(2, 2, 3)]
    h, c = relay.const(array(2, 5)), relay.const(array(2, 4))
    holes = {name: relay.const(array(4)) for name in ("p_i", "p_f", "p_o")}
    outs, _, cell = common.lstm_cell(
        seq, h, c, relay.const(array(16, 3)), relay.const(array(16, 5)),
        proj=relay.const(array(5, 4)), **holes,
    )  # fmt: skip
    assert common.infer_shape(outs[0]) == (2, 5)
    assert common.infer_shape(cell) == (2, 4)
