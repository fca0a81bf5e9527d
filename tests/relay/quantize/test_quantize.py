"""Networks in integers: what is marked, which scales it gets, what is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.transform.numbers import module, ops, results
from tvm import relay
from tvm.relay import quantize as qtz

pytestmark = pytest.mark.pure
RNG = np.random.default_rng(3)


def weight(*shape: int) -> Any:
    return relay.const(RNG.uniform(-0.5, 0.5, shape).astype("float32"))


def conv(x: Any, channels: int, inputs: int) -> Any:
    kernel = weight(channels, inputs, 3, 3)
    return relay.nn.conv2d(x, kernel, padding=(1, 1), channels=channels, kernel_size=(3, 3))


def network() -> Any:
    x = relay.var("x", shape=(1, 3, 6, 6))
    y = relay.nn.relu(relay.add(conv(x, 4, 3), weight(4, 1, 1)))
    y = relay.nn.max_pool2d(conv(y, 4, 4), (2, 2), strides=(2, 2))
    return module(relay.nn.global_avg_pool2d(y), x)


IMAGE = RNG.uniform(-1, 1, (1, 3, 6, 6)).astype("float32")


def quantized(mod: Any, **options: Any) -> Any:
    with qtz.qconfig(skip_conv_layers=[], **options):
        return qtz.quantize(mod, dataset=[{"x": IMAGE}])


@pytest.mark.parametrize(
    "options",
    [
        {}, {"do_simulation": True}, {"weight_scale": "max"}, {"global_scale": 6.0},
        {"global_scale": 6.0, "rounding": "TONEAREST"}, {"round_for_shift": False},
        {"calibrate_mode": "kl_divergence"}, {"calibrate_mode": "percentile"},
        {"calibrate_mode": "percentile", "calibrate_chunk_by": 1},
    ],
)  # fmt: skip
def test_numbers_stay_close(options: Any) -> None:
    mod = network()
    (wanted,), (found,) = results(mod, [IMAGE]), results(quantized(mod, **options), [IMAGE])
    np.testing.assert_allclose(found, wanted, atol=0.15)


@pytest.mark.covering(1)
@pytest.mark.parametrize("weight_scale", ["max", "power2"])
@pytest.mark.parametrize("mode", ["kl_divergence", "percentile", "global_scale"])
def test_zeros_have_a_step(weight_scale: str, mode: str) -> None:
    x = relay.var("x", shape=(1, 3, 6, 6))
    zeros = relay.const(np.zeros((4, 1, 1), "float32"))
    y = relay.nn.relu(relay.add(conv(x, 4, 3), zeros))
    dead = relay.nn.relu(relay.multiply(y, relay.const(np.float32(0))))
    mod = module(relay.nn.global_avg_pool2d(conv(dead + y, 4, 4)), x)
    made = quantized(mod, weight_scale=weight_scale, calibrate_mode=mode)
    (wanted,), (found,) = results(mod, [IMAGE]), results(made, [IMAGE])
    np.testing.assert_allclose(found, wanted, atol=0.15)


def test_sums_of_very_different_steps() -> None:
    """What is far below a step of the other tensor is lost; the other one is as it was."""
    x = relay.var("x", shape=(1, 3, 6, 6))
    y = conv(relay.multiply(conv(x, 4, 3), relay.const(np.float32(1e-20))), 4, 4)
    mod = module(relay.add(y, weight(4, 1, 1)), x)
    made = quantized(mod, weight_scale="max", calibrate_mode="percentile")
    (wanted,), (found,) = results(mod, [IMAGE]), results(made, [IMAGE])
    np.testing.assert_allclose(found, wanted, atol=0.02)


def test_convolutions_are_of_integers() -> None:
    made = quantized(network())
    convs = [
        e for e in tvm.relay.traverse.post_order(made["main"].body)
        if isinstance(e, relay.Call) and e.op.name == "nn.conv2d"
    ]  # fmt: skip
    assert len(convs) == 2
    for call in convs:
        assert [str(arg.checked_type.dtype) for arg in call.args] == ["int8", "int8"]
        assert str(call.checked_type.dtype) == "int32"


def test_the_first_convolution_is_left_out_unless_asked_for() -> None:
    mod = qtz.quantize(network())
    dtypes = [
        str(e.checked_type.dtype) for e in tvm.relay.traverse.post_order(mod["main"].body)
        if isinstance(e, relay.Call) and e.op.name == "nn.conv2d"
    ]  # fmt: skip
    assert dtypes == ["float32", "int32"]


def test_dense_layers_are_left_out_unless_asked_for() -> None:
    x = relay.var("x", shape=(2, 4))
    mod = module(relay.nn.dense(x, weight(3, 4)), x)
    assert "clip" not in ops(qtz.quantize(mod))
    with qtz.qconfig(skip_dense_layer=False):
        made = qtz.quantize(mod)
    assert ops(made).count("nn.dense") == 1
    assert "clip" in ops(made)


def test_products_of_batches_and_joined_values() -> None:
    x, w = relay.var("x", shape=(1, 2, 4)), weight(1, 3, 4)
    mod = module(relay.nn.batch_matmul(x, w), x)
    given = RNG.uniform(-1, 1, (1, 2, 4)).astype("float32")
    (wanted,), (found,) = results(mod, [given]), results(qtz.quantize(mod), [given])
    np.testing.assert_allclose(found, wanted, atol=0.1)
    x = relay.var("x", shape=(1, 3, 6, 6))
    mod = module(relay.concatenate([conv(x, 2, 3), conv(x, 2, 3)], 1), x)
    made = quantized(mod)
    assert ops(made)[-1] == "multiply", "one scale for all"
    np.testing.assert_allclose(results(made, [IMAGE])[0], results(mod, [IMAGE])[0], atol=0.15)


def test_multiplied_by_a_constant_and_moved() -> None:
    x = relay.var("x", shape=(1, 3, 6, 6))
    y = relay.multiply(conv(x, 2, 3), weight(2, 1, 1))
    mod = module(relay.nn.avg_pool2d(relay.clip(y, -1.0, 1.0), (2, 2)), x)
    made = quantized(mod)
    np.testing.assert_allclose(results(made, [IMAGE])[0], results(mod, [IMAGE])[0], atol=0.15)


def test_marks_hold_open_scales() -> None:
    with qtz.qconfig(skip_conv_layers=[]), qtz.QuantizeContext():
        made = qtz.annotate()(qtz.partition()(qtz.prerequisite_optimize(network())))
    assert ops(made).count("relay.op.annotation.simulated_quantize") == 6
    names = [p.name_hint for p in made["main"].params]
    assert names[0] == "x"
    assert names.count("dom_scale") == 6


@pytest.mark.parametrize("kind", ["enabled", "fully_integral"])
def test_three_functions(kind: str) -> None:
    x = relay.var("x", shape=(1, 3, 6, 6))
    mod = module(relay.nn.relu(conv(x, 2, 3)), x)
    made = quantized(mod, partition_conversions=kind)
    names = {var.name_hint for var in made.functions}
    assert names == {"main", "quantize_inputs", "quantized_main", "dequantize_outputs"}
    assert relay.analysis.all_dtypes(made["quantized_main"]) <= {"int8", "int32"}
    np.testing.assert_allclose(results(made, [IMAGE])[0], results(mod, [IMAGE])[0], atol=0.15)


def test_choices() -> None:
    assert qtz.current_qconfig().nbit_input == 8
    with qtz.qconfig(nbit_weight=4) as config:
        assert qtz.current_qconfig() is config
        assert config.get_nbit_by_kind(qtz.QAnnotateKind.WEIGHT) == 4
        assert config.get_dtype_by_kind(qtz.QAnnotateKind.ACTIVATION) == "int32"
        assert "nbit_weight==4" in str(config)
        with pytest.raises(AttributeError, match="cannot set attribute 'nbit_input'"):
            config.nbit_input = 4
    assert qtz.current_qconfig().nbit_weight == 8
    with pytest.raises(TypeError, match="no option 'bits'; legal: nbit_input"):
        qtz.qconfig(bits=4)
    assert qtz.kind2str(qtz.QAnnotateKind.IDENTITY) == "identity"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"calibrate_mode": "x"}, "Unknown calibrate mode x"),
        ({"weight_scale": "x"}, "Unknown weight scale mode x"),
        ({"partition_conversions": "x"}, "legal: disabled, enabled, fully_integral"),
    ],
)  # fmt: skip
def test_unknown_choices(options: Any, text: str) -> None:
    with qtz.qconfig(**options), pytest.raises((ValueError, tvm.TVMError), match=text):
        qtz.quantize(network())


def test_only_named_operators_are_marked() -> None:
    with qtz.qconfig(skip_conv_layers=[], debug_enabled_ops=["nn.dense"]):
        made = qtz.quantize(network())
    assert "clip" not in ops(made)


def test_the_range_that_loses_least() -> None:
    values = np.append(RNG.normal(0, 1, 20000), [50.0]).astype("float32")
    scale = qtz._find_scale_by_kl(values)
    assert 1 < scale < 25, "one far value does not make all steps coarse"


@pytest.mark.parametrize(("seed", "wanted"), [(0, 1.99203312), (1, 2.0659256)])
def test_near_ranges_are_told_apart_as_by_v0_18(seed: int, wanted: float) -> None:
    values = np.random.RandomState(seed).randn(100).astype("float32")
    assert qtz._find_scale_by_kl(values, num_bins=801) == pytest.approx(wanted, abs=1e-7)


def test_percentiles_are_values_that_were_seen() -> None:
    made = quantized(module(conv(relay.var("x", shape=(1, 3, 6, 6)), 4, 3)),
                     calibrate_mode="percentile")  # fmt: skip
    first = next(line for line in made.astext(False).splitlines() if "%0 = multiply" in line)
    factor = float(first.split("%x, ")[1].split("f")[0])
    assert factor == pytest.approx(128 / np.abs(IMAGE).max(), rel=1e-6)


def test_rounding_to_the_nearest_looks_at_the_product() -> None:
    made = quantized(network(), weight_scale="max", rounding="TONEAREST")
    text = made.astext(False)
    assert "fixed_point_multiply" not in text
    assert 'zeros(shape=[1, 4, 6, 6], dtype="int64")' in text


def test_three_joined_tensors_are_widened_without_a_stop() -> None:
    x = relay.var("x", shape=(1, 3, 6, 6))
    parts = [relay.nn.relu(conv(x, 4, 3)) for _ in range(2)]
    made = quantized(module(conv(relay.concatenate([*parts, parts[0]], 1), 4, 12)))
    stops = [n for n in made.astext(False).splitlines() if "stop_fusion" in n]
    assert stops
    assert not [line for line in stops if "int32" in line]


@pytest.mark.parametrize("scale", [2.0, 8.0])
def test_sums_do_not_wrap(scale: float) -> None:
    """Two narrow integers make a wide one: the numbers are those of floats that are rounded."""
    rng = np.random.default_rng(5)

    def conv(data: Any) -> Any:
        weight = rng.uniform(-0.4, 0.4, (8, 8, 3, 3)).astype("float32")
        return relay.nn.conv2d(data, relay.const(weight), padding=(1, 1))

    x = relay.var("x", shape=(1, 8, 8, 8))
    first = relay.nn.relu(conv(x))
    second = relay.nn.relu(relay.add(conv(relay.nn.relu(conv(first))), first))
    body = relay.nn.relu(relay.add(relay.add(conv(second), second), relay.const(0.5)))
    mod = tvm.IRModule.from_expr(relay.Function([x], body))
    data = rng.uniform(-1, 1, (1, 8, 8, 8)).astype("float32")
    found = []
    for simulated in (True, False):
        with relay.quantize.qconfig(
            skip_conv_layers=[], global_scale=scale, do_simulation=simulated
        ):
            made = relay.quantize.quantize(mod)
        found.append(relay.create_executor("graph", made).evaluate()(data).numpy())
    assert abs(found[0]).max() > scale / 2
    np.testing.assert_allclose(found[1], found[0], atol=3 * scale / 128)  # three steps


def dense_line(mod: Any) -> str:
    return next(line for line in str(mod).splitlines() if "nn.dense(" in line)


@pytest.mark.parametrize("skipped", [True, False])
@pytest.mark.parametrize("layer", ["dense", "batch_matmul"])
def test_skipped_products_follow_integers(skipped: bool, layer: str) -> None:
    x = relay.var("x", shape=(1, 3, 6, 6))
    y = relay.nn.max_pool2d(relay.nn.relu(conv(x, 4, 3)), (2, 2), strides=(2, 2))
    if layer == "dense":
        y = relay.nn.dense(relay.nn.batch_flatten(y), weight(5, 36))
    else:
        y = relay.nn.batch_matmul(relay.reshape(y, (1, 4, 9)), weight(1, 5, 9))
    mod = module(y, x)
    made = quantized(mod, skip_dense_layer=skipped)
    (wanted,), (found,) = results(mod, [IMAGE]), results(made, [IMAGE])
    np.testing.assert_allclose(found, wanted, atol=0.3)
    if layer == "dense":
        assert ("out_dtype=\"int32\"" in dense_line(made)) != skipped


def steps(body: Any) -> str:
    """Regions of a program at level 3, as names of operators in order."""
    with tvm.transform.PassContext(opt_level=3), qtz.qconfig():
        made = qtz.partition()(qtz.prerequisite_optimize(module(body)))
    names = [name.rpartition(".")[2] for name in ops(made)]
    return " ".join(name.replace("_fusion", "").replace("_hint", "") for name in names)


X = relay.var("x", shape=(1, 4, 6, 6))
Y = relay.var("y", shape=(1, 4, 6, 6))
STORED = "conv2d cast stop"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (lambda c: relay.multiply(c, Y), f"{STORED} multiply cast stop"),
        (lambda c: relay.multiply(Y, c), f"{STORED} multiply cast stop"),
        (lambda c: relay.multiply(c, conv(Y, 4, 4)), f"{STORED} conv2d multiply cast stop"),
        (lambda c: relay.add(c, Y), f"{STORED} add"),  # only two regions make a third one
        (lambda c: relay.add(Y, c), f"{STORED} add"),
        (lambda c: relay.add(c, conv(Y, 4, 4)), f"{STORED} {STORED} add cast stop"),
        (lambda c: relay.Tuple([relay.exp(c), relay.log(c)]), f"{STORED} exp log"),
        (lambda c: relay.nn.global_avg_pool2d(c), f"{STORED} global_avg_pool2d"),
        (lambda c: relay.nn.global_avg_pool2d(X), "cast stop global_avg_pool2d"),
        (lambda c: conv(c, 4, 4), f"{STORED} {STORED}"),  # the first one is skipped later
    ],
)
def test_where_regions_end(body: Any, wanted: str) -> None:
    assert steps(body(conv(X, 4, 4))) == wanted


def test_a_skipped_layer_is_stored_in_numbers() -> None:
    first = conv(X, 4, 4)
    with qtz.qconfig():
        made = qtz.quantize(module(relay.add(conv(first, 4, 4), first)))
    text = made.astext(False)
    assert "cast_hint" not in text
    assert text.count("annotation.stop_fusion(%0)") == 2


def test_biases_become_sums_at_level_3_alone() -> None:
    body = relay.nn.bias_add(conv(X, 4, 4), weight(4))
    for level, name in ((2, "nn.bias_add"), (3, "add")):
        with tvm.transform.PassContext(opt_level=level), qtz.qconfig():
            assert ops(qtz.prerequisite_optimize(module(body)))[-1] == name


@pytest.mark.parametrize("turned", [False, True])
def test_products_with_values_that_are_not_quantized(turned: bool) -> None:
    made = conv(X, 4, 4)
    mod = quantized_two(relay.multiply(Y, made) if turned else relay.multiply(made, Y))
    text = mod.astext(False)
    assert "multiply" in text
    assert 'out_dtype="int32"' in text


def quantized_two(body: Any) -> Any:
    with qtz.qconfig(skip_conv_layers=[]):
        return qtz.quantize(module(body))
