"""The networks of the tests: they have types, read back from text, and run."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay import testing

pytestmark = pytest.mark.pure


def test_perceptron_runs() -> None:
    mod, params = testing.mlp.get_workload(2)
    run = relay.create_executor("graph", mod, params=params).evaluate()
    found = run(np.ones((2, 1, 28, 28), "float32")).numpy()
    assert found.shape == (2, 10)
    np.testing.assert_allclose(found.sum(1), 1, rtol=1e-5)


@pytest.mark.parametrize(
    ("layers", "shape"), [(18, (3, 224, 224)), (50, (3, 224, 224)), (20, (3, 28, 28))]
)
def test_residual_networks(layers: int, shape: tuple[int, ...]) -> None:
    net = testing.resnet.get_net(1, 1000, layers, shape)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(net))
    assert mod["main"].ret_type == relay.TensorType((1, 1000), "float32")
    again = relay.transform.InferType()(relay.parse(mod.astext()))
    tvm.ir.assert_structural_equal(again, mod)


def test_layouts() -> None:
    net = testing.resnet.get_net(1, 10, 18, (224, 224, 3), layout="NHWC")
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(net))
    assert mod["main"].ret_type == relay.TensorType((1, 10), "float32")
    assert testing.layers.conv_kernel_layout("NHWC", True) == "HWOI"
    with pytest.raises(ValueError, match="no kernel layout goes with"):
        testing.layers.conv_kernel_layout("X")
    with pytest.raises(ValueError, match="no experiments done"):
        testing.resnet.get_net(1, 10, 19, (3, 224, 224))


def test_initial_values() -> None:
    arr = np.zeros((4, 3))
    testing.init.Xavier()("a_weight", arr)
    assert 0 < np.abs(arr).max() <= np.sqrt(3 / 3.5)
    testing.init.Initializer()("a_gamma", arr)
    assert (arr == 1).all()
    testing.init.Constant(value=2)("a_weight", arr)
    assert (arr == 2).all()
    with pytest.raises(ValueError, match="Unknown initialization pattern"):
        testing.init.Xavier()("a", arr)
    with pytest.raises(ValueError, match="requires at least 2D"):
        testing.init.Xavier()("a_weight", np.zeros(3))


def test_helpers() -> None:
    x = relay.var("x", shape=(2,))
    found = testing.run_opt_pass(x + x, relay.transform.InferType())
    assert found.checked_type == relay.TensorType((2,))
    assert testing.run_infer_type(relay.Function([x], x)).ret_type == relay.TensorType((2,))
    assert testing.rand("float32", 2, 3).data.shape == (2, 3)
    assert testing.count_ops(x + x) == {"add": 1}


CLASSES = relay.TensorType((1, 10), "float32")
NETWORKS = {
    "vgg": lambda: testing.vgg.get_net(1, (3, 224, 224), 10, "float32", 13, True),
    "mobilenet": lambda: testing.mobilenet.mobile_net(10),
    "mobilenet NHWC": lambda: testing.mobilenet.mobile_net(10, (1, 224, 224, 3), layout="NHWC"),
    "shallow mobilenet": lambda: testing.mobilenet.mobile_net(10, is_shallow=True),
    "squeezenet 1.0": lambda: testing.squeezenet.get_net(1, (3, 224, 224), 10, "1.0", "float32"),
    "squeezenet 1.1": lambda: testing.squeezenet.get_net(1, (3, 224, 224), 10, "1.1", "float32"),
    "dqn": lambda: testing.dqn.get_net(1, 10),
    "synthetic": lambda: testing.synthetic.get_net(),
    "resnet 3d": lambda: testing.resnet_3d.get_net(1, 10, 18),
    "deep resnet 3d": lambda: testing.resnet_3d.get_net(1, 10, 50),
    "small resnet 3d": lambda: testing.resnet_3d.get_net(1, 10, 20, (3, 8, 28, 28)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_have_types_and_text(name: str) -> None:
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(NETWORKS[name]()))
    shape = (1, 3, 24, 12) if name == "synthetic" else (1, 10)
    assert mod["main"].ret_type == relay.TensorType(shape, "float32")
    again = relay.transform.InferType()(relay.parse(mod.astext()))
    tvm.ir.assert_structural_equal(again, mod)


def test_dense_networks_draw_on_all_layers() -> None:
    mod, params = testing.densenet.get_workload(121, 10, 1)
    assert mod["main"].ret_type == CLASSES
    assert len([name for name in params if name.startswith("conv")]) == 120
    assert params["conv2d_1_0_1_weight"].shape == (128, 32, 1, 1)
    assert params["conv_t_0_weight"].shape == (128, 192, 1, 1)
    with pytest.raises(ValueError, match="121, 161, 169, 201"):
        testing.densenet.get_workload(100)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_generated_pictures(layout: str) -> None:
    shape = (3, 64, 64)
    net = testing.dcgan.get_net(2, oshape=shape, ngf=8, layout=layout)
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(net))
    wanted = (2, *shape) if layout == "NCHW" else (2, 64, 64, 3)
    assert mod["main"].ret_type == relay.TensorType(wanted, "float32")


def test_lstm_computes_what_the_formulas_say() -> None:
    mod, params = testing.lstm.get_workload(2, 3)
    data = np.linspace(-1, 1, 3, dtype="float32").reshape(1, 3)
    h = c = np.zeros((1, 3), "float32")
    sigmoid = lambda v: 1 / (1 + np.exp(-v))
    for at in range(2):
        sides = [(data, "i2h"), (h, "h2h")]
        gates = sum(
            x @ params[f"{s}_{at}_weight"].numpy().T + params[f"{s}_{at}_bias"].numpy()
            for x, s in sides
        )
        i, f, g, o = np.split(gates, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
    run = relay.create_executor("debug", mod).evaluate()
    given = [params.get(p.name_hint, data) for p in mod["main"].params]
    np.testing.assert_allclose(run(*given).numpy(), h, rtol=1e-5)


def test_unknown_networks_are_refused() -> None:
    with pytest.raises(ValueError, match="Choices are"):
        testing.vgg.get_net(1, (3, 224, 224), 10, "float32", 12)
    with pytest.raises(ValueError, match=r"1\.0 or 1\.1 expected"):
        testing.squeezenet.get_net(1, (3, 224, 224), 10, "2.0", "float32")
    with pytest.raises(ValueError, match="no experiments done"):
        testing.resnet_3d.get_net(1, 10, 19)
    with pytest.raises(ValueError, match="Only support 64x64"):
        testing.dcgan.get_net(1, oshape=(3, 32, 32))


def test_a_rule_for_the_time_of_a_scope() -> None:
    op = tvm.ir.Op.get("nn.relu")
    before = op.get_attr("FTVMLegalize")
    with testing.TempOpAttr("nn.relu", "FTVMLegalize", "rule"):
        assert op.get_attr("FTVMLegalize") == "rule"
    assert op.get_attr("FTVMLegalize") is before


def test_numbered_parameters_are_filled_by_their_kind() -> None:
    fill = testing.init.Initializer()
    for name, wanted in (("bn_gamma2", 1.0), ("bn_beta12", 0.0), ("dense_bias", 0.0)):
        found = np.full(3, 7.0)
        fill(name, found)
        assert found.tolist() == [wanted] * 3
    weight = np.full((2, 2, 2), 7.0)
    fill("conv2d_weight1", weight)
    assert np.abs(weight).max() <= 0.1
    with pytest.raises(ValueError, match="Unknown initialization pattern for other3"):
        fill("other3", weight)


def test_inception() -> None:
    net = testing.inception_v3.get_net(1, 10, (3, 299, 299), "float32")
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(net))
    assert mod["main"].ret_type == relay.TensorType((1, 10), "float32")
    assert testing.count_ops(mod["main"])["nn.conv2d"] == 94
    with pytest.raises(ValueError, match="Invalid pooling type: mean; legal: max, avg"):
        testing.inception_v3.Pooling(net.params[0], (1, 1), (1, 1), (0, 0), "mean", "p")


def test_slopes() -> None:
    x = relay.var("x", shape=(2, 3), dtype="float64")
    testing.check_grad(relay.Function([x], relay.tanh(x * x)))
    with testing.TempOpAttr("sin", "FPrimalGradient", lambda orig, g: [g]):
        with pytest.raises(AssertionError):
            testing.check_grad(relay.Function([x], relay.sin(x)))


def test_weights_of_the_synthetic_network_are_even() -> None:
    _, params = testing.synthetic.get_workload()
    for name in ("conv_weight", "dense2_weight"):
        found = params[name].numpy()
        np.testing.assert_allclose(found, np.full(found.shape, 1 / found.size), rtol=1e-6)
