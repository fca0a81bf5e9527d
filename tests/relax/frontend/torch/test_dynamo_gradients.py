"""Gradients through compiled graphs are those of torch itself."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import pytest

from tvm.relax.frontend.torch import dynamo_gradients, relax_dynamo

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu
nn = torch.nn
functional = torch.nn.functional


class Attention(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(8, 24)

    def forward(self, x: Any) -> Any:
        parts = (part[:, None] for part in self.lin(x).chunk(3, -1))
        return functional.scaled_dot_product_attention(*parts, is_causal=True)


class Tied(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 4)
        self.head = nn.Linear(4, 7, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x: Any) -> Any:
        return self.head(self.table(x))


class Writing(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        y = self.lin(x)
        y[:, 1] = x[:, 0] * 2
        return y.mul_(2).relu_(), self.lin(torch.tanh(y))


MODELS = {
    "mlp": (nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3), nn.Sigmoid()), (4,)),
    "conv": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)),
        (3, 8, 8),
    ),
    "attention": (Attention(), (5, 8)),
    "norms": (nn.Sequential(nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 4), nn.Softmax(-1)), (4,)),
    "groups": (nn.Sequential(nn.Conv1d(4, 4, 3), nn.GroupNorm(2, 4), nn.AvgPool1d(2)), (4, 9)),
    "activations": (nn.Sequential(nn.ELU(), nn.Linear(4, 4), nn.Softplus(), nn.Hardswish()), (4,)),
    "writing": (Writing(), (4,)),
    "tied": (Tied(), None),
}


def fast(model: Any, **options: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(model, backend=relax_dynamo(), **options)


def tensors(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (tuple, list)) else [given]


def after_a_step(func: Any, model: Any, x: Any) -> list[Any]:
    """Results and gradients of a loss with several terms, one of them without the graph."""
    x = x.clone().requires_grad_(x.is_floating_point())
    model.zero_grad()
    outs = tensors(func(x)) + tensors(func(x))  # two uses of the same weights
    weights = [torch.linspace(0.3, 1.7, one.numel()).reshape(one.shape) for one in outs]
    loss = sum((one * weight).square().sum() for one, weight in zip(outs, weights))
    loss = loss + sum(param.square().sum() for param in model.parameters())
    loss.backward()
    return [*outs, *model.buffers(), *(param.grad for param in model.parameters()), x.grad]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_torch(name: str, dynamic: bool) -> None:
    torch.manual_seed(0)
    model, shape = copy.deepcopy(MODELS[name])
    other = copy.deepcopy(model)
    compiled = fast(other, dynamic=dynamic)
    for count in (2, 3):
        x = torch.arange(count) if shape is None else torch.randn(count, *shape)
        ours, theirs = after_a_step(compiled, other, x), after_a_step(model, model, x)
        for found, expected in zip(ours, theirs, strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)


def test_the_gradients_of_a_plain_network_are_compiled(monkeypatch: Any) -> None:
    """Both graphs are, the second one when it is first asked for."""
    seen: list[Any] = []
    apart = dynamo_gradients._apart

    def noted(graph: Any, run: Any) -> Any:
        seen.append(graph)
        return apart(graph, run)

    monkeypatch.setattr(dynamo_gradients, "_apart", noted)
    result = fast(nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)))(torch.ones(2, 4))
    assert len(seen) == 1
    result.sum().backward()
    assert len(seen) == 2


@pytest.mark.parametrize("case", ["no_grad", "frozen", "plain"])
def test_what_needs_no_gradient_is_compiled_as_before(case: str, monkeypatch: Any) -> None:
    def never(*given: Any) -> None:
        raise AssertionError("no gradients are needed")

    monkeypatch.setattr("tvm.relax.frontend.torch.dynamo.with_gradients", never)
    model = nn.Linear(4, 3)
    if case == "frozen":
        model.requires_grad_(False)
    with torch.set_grad_enabled(case != "no_grad"):
        made = fast(torch.sin if case == "plain" else model)(torch.ones(2, 4))
    assert not made.requires_grad


def test_a_result_may_be_written_to_and_still_knows_its_gradient() -> None:
    """What is kept for the gradient is not the memory that the user gets."""
    for func in (torch.relu, torch.sigmoid):
        x = torch.randn(5, requires_grad=True)
        y = fast(func)(x * 1)
        y.add_(1)
        y.sum().backward()
        found, x.grad = x.grad, None
        func(x).sum().backward()
        torch.testing.assert_close(found, x.grad)


def test_a_write_to_what_the_gradient_needs_is_noticed() -> None:
    x = torch.randn(3, requires_grad=True)
    z = x * 1
    y = fast(lambda a: a * a)(z)
    with torch.no_grad():
        z.mul_(2)
    with pytest.raises(RuntimeError, match="inplace operation"):
        y.sum().backward()


def test_dropout_in_training_drops_in_both_directions() -> None:
    x = torch.ones(4, 50, requires_grad=True)
    y = fast(nn.Dropout(0.5))(x)
    y.sum().backward()
    assert sorted(set(y.flatten().tolist())) == [0, 2]
    assert torch.equal(y.detach(), x.grad)


def test_gradients_within_no_grad() -> None:
    lin = nn.Linear(3, 1)

    def func(x: Any) -> Any:
        with torch.enable_grad():
            return lin(x).sin()

    with torch.no_grad(), pytest.warns(UserWarning, match="not compiled: enable_grad"):
        y = fast(func)(torch.ones(2, 3))
    assert y.requires_grad


def test_what_has_no_converter_runs_on_torch() -> None:
    @torch.library.custom_op("gradients::triple", mutates_args=())  # type: ignore[untyped-decorator]
    def triple(x: torch.Tensor) -> torch.Tensor:  # type: ignore[name-defined]
        return x * 3

    triple.register_fake(torch.empty_like)
    triple.register_autograd(lambda ctx, grad: grad * 3)
    x = torch.randn(3, requires_grad=True)
    with pytest.warns(UserWarning, match="not compiled: Unsupported function types"):
        y = fast(lambda a: triple(a).sin())(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, 3 * (3 * x.detach()).cos())


def test_second_derivatives_are_refused() -> None:
    x = torch.randn(3, requires_grad=True)
    (slope,) = torch.autograd.grad(fast(torch.sin)(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backward"):
        slope.sum().backward()


def test_training_finds_the_same_weights() -> None:
    torch.manual_seed(0)
    first = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    second = copy.deepcopy(first)
    x = torch.randn(16, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for model, func in ((first, first), (second, fast(second))):
            steps = torch.optim.SGD(model.parameters(), 0.1)
            for _ in range(10):
                steps.zero_grad()
                functional.mse_loss(func(x), x[:, :1]).backward()
                steps.step()
    for found, expected in zip(second.parameters(), first.parameters()):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
