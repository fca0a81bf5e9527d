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
