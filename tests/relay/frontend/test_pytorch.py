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
    with pytest.raises(RuntimeError, match="is not valid"):
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


def test_types_of_traced_graphs_go_first() -> None:
    class Double(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x + x

    for kind, name in ((torch.int64, "int64"), (torch.float64, "float64"), (torch.uint8, "uint8")):
        traced = torch.jit.trace(Double(), torch.ones(2, 3).to(kind))
        for info in ((2, 3), ((2, 3), "float32")):
            mod, _ = relay.frontend.from_pytorch(traced, [("x", info)])
            assert str(mod["main"].params[0].type_annotation.dtype) == name
    for infos, words in (
        ([], "has 1 inputs and input_infos lists 0"), (None, "should be a list"),
        ([("x", (5, 3))], "do not match"), (["x"], "not a tuple"), ([("x",)], "not valid"),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match=words):
            relay.frontend.from_pytorch(traced, infos)


def test_scripted_modules() -> None:
    class Steps(torch.nn.Module):
        def __init__(self, branch: bool) -> None:
            super().__init__()
            self.branch = branch
            self.line = torch.nn.Linear(3, 3)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            if self.branch and bool(x.sum() > 0):
                return x
            z = self.line(x) if x.dim() == 2 else x
            for _ in range(2):
                z = z * y
            return z

    infos = [("x", (2, 3)), ("y", (2, 3))]
    model = Steps(False).eval()
    mod, params = relay.frontend.from_pytorch(torch.jit.script(model), infos)
    x, y = (np.random.default_rng(at).uniform(-1, 1, (2, 3)).astype("float32") for at in (0, 1))
    found = relay.create_executor("graph", mod).evaluate()(x, y, *params.values())
    wanted = model(torch.from_numpy(x), torch.from_numpy(y)).detach().numpy()
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-6)
    with pytest.raises(tvm.error.OpNotImplemented, match="control flow"):
        relay.frontend.from_pytorch(torch.jit.script(Steps(True)), infos)
