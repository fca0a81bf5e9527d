"""Traced and other PyTorch modules in Relay, against torch."""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import graph_executor

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu
warnings.filterwarnings("ignore", category=DeprecationWarning)


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.head = torch.nn.Linear(4, 5)

    def forward(self, x: Any) -> Any:
        y = torch.nn.functional.silu(self.norm(self.conv(x)))
        return torch.softmax(self.head(y.mean((2, 3))), -1)


@pytest.fixture(scope="module")
def net() -> Any:
    torch.manual_seed(0)
    return Net().eval()


X = np.random.default_rng(0).uniform(-1, 1, (1, 3, 6, 6)).astype("float32")


def result(mod: Any, params: Any, x: Any, name: str = "input0") -> Any:
    runner = graph_executor.GraphModule(
        relay.build(mod, "llvm", params=params)["default"](tvm.cpu())
    )
    runner.run(**{name: x})
    return runner.get_output(0).numpy()


def test_traced_modules(net: Any) -> None:
    with torch.no_grad():
        traced = torch.jit.trace(net, torch.from_numpy(X))
        wanted = net(torch.from_numpy(X)).numpy()
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    for model in (traced, torch.jit.load(file)):
        mod, params = relay.frontend.from_pytorch(model, [("input0", (1, 3, 6, 6))])
        assert {"conv.weight", "conv.bias", "head.weight"} <= set(params)
        assert mod["main"].params[0].name_hint == "input0"
        assert "nn.bias_add" in str(mod)
        np.testing.assert_allclose(result(mod, params, X), wanted, rtol=1e-4, atol=1e-6)


def test_traced_tensors_of_one_element() -> None:
    class Softer(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            functional = torch.nn.functional
            y = functional.local_response_norm(functional.softsign(x), 3)
            return functional.binary_cross_entropy_with_logits(y + len(x), x.abs() / 2)

    x = torch.from_numpy(X)
    traced = torch.jit.trace(Softer().eval(), x, check_trace=False)  # it has not run yet
    mod, params = relay.frontend.from_pytorch(traced, [("input0", (1, 3, 6, 6))])
    wanted = Softer()(x).numpy()
    np.testing.assert_allclose(result(mod, params, X), wanted, rtol=1e-4, atol=1e-6)


def test_modules_and_exported_programs(net: Any) -> None:
    wanted = net(torch.from_numpy(X)).detach().numpy()
    program = torch.export.export(net, (torch.from_numpy(X),))
    for model in (net, program):
        mod, params = relay.frontend.from_pytorch(
            model, [("a", ((1, 3, 6, 6), "float32"))], use_parser_friendly_name=True
        )
        assert "conv_weight" in params
        np.testing.assert_allclose(result(mod, params, X, "a"), wanted, rtol=1e-4, atol=1e-6)


def test_extents_that_may_be_any(net: Any) -> None:
    mod, params = relay.frontend.from_pytorch(net, [("x", (relay.Any(), 3, 6, 6))])
    run = relay.create_executor("vm", mod, params=params).evaluate()
    x = np.concatenate([X, X * 2])
    wanted = net(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(run(x).numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_other_types_and_several_inputs() -> None:
    class Pick(torch.nn.Module):
        def forward(self, table: Any, places: Any) -> Any:
            return table[places], places + 1

    mod, params = relay.frontend.from_pytorch(
        Pick(), [("table", (4, 2)), ("places", ((3,), "long"))]
    )
    assert params == {}
    table, places = np.arange(8, dtype="float32").reshape(4, 2), np.array([3, 0, 1], "int64")
    rows, more = relay.create_executor("graph", mod).evaluate()(table, places)
    np.testing.assert_array_equal(rows.numpy(), table[places])
    np.testing.assert_array_equal(more.numpy(), places + 1)


def test_refuses(net: Any) -> None:
    with pytest.raises(RuntimeError, match="input_infos"):
        relay.frontend.from_pytorch(net, [(1, 3, 6, 6)])
    with pytest.raises(TypeError, match="the model"):
        relay.frontend.from_pytorch("net.pt", [("x", (1,))])
    with pytest.raises(tvm.error.OpNotImplemented, match="custom_convert_map"):
        relay.frontend.from_pytorch(net, [("x", (1, 3, 6, 6))], {"aten::relu": None})
    with pytest.raises(TypeError, match="the type of 'x'"):
        relay.frontend.from_pytorch(net, [("x", ((1, 3, 6, 6), "moon"))])


def test_extents_that_torch_fixes_are_refused() -> None:
    class Largest(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.max(x, 1)

    traced = torch.jit.trace(Largest(), (torch.rand(3, 4),))
    words = r"extent 0 of 'x' may be any\n  found: torch fixes it at 7"
    with pytest.raises(tvm.error.OpNotImplemented, match=words):
        relay.frontend.from_pytorch(traced, [("x", (relay.Any(), 4))])
    mod, _ = relay.frontend.from_pytorch(Largest(), [("x", (relay.Any(), 4))])
    assert "Tensor[(?, 4), float32]" in str(mod)
