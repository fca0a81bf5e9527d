"""torch.compile with our backend, and the graphs that torch finds."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import tvm
from tvm import relax
from tvm.relax.frontend.torch import dynamo_capture_subgraphs, relax_dynamo
from tvm.relax.frontend.torch.dynamo import device_from_inputs, llvm_target

from .networks import network
from .running import assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.cpu


def test_a_network() -> None:
    model, args = network("mobilenet")
    torch._dynamo.reset()
    with torch.no_grad():
        assert_same(torch.compile(model, backend=relax_dynamo())(*args), model(*args))


def test_the_backend_that_torch_brings() -> None:
    """Relay and the graph executor, as TVM v0.18 had them, or (torch 2.14) `relax_dynamo`."""
    model, args = network("mobilenet")
    torch._dynamo.reset()
    with torch.no_grad():
        assert_same(torch.compile(model, backend="tvm")(*args), model(*args))


def test_entry_point() -> None:
    text = (Path(tvm.__file__).parents[1] / "pyproject.toml").read_text()
    place = re.search(r'^relax = "(.*):(.*)"$', text, re.MULTILINE)
    assert place is not None
    backend = getattr(importlib.import_module(place[1]), place[2])
    torch._dynamo.reset()
    compiled = torch.compile(torch.sin, backend=backend, dynamic=True)
    for size in (3, 5):
        assert_same(compiled(torch.ones(size)), torch.sin(torch.ones(size)))


def test_a_pipeline_of_ones_own() -> None:
    seen: list[Any] = []

    @tvm.transform.module_pass(opt_level=0, name="Note")
    def note(mod: Any, ctx: Any) -> Any:
        seen.append(mod)
        return mod

    pipeline = tvm.transform.Sequential([note, relax.get_pipeline()])
    torch._dynamo.reset()
    compiled = torch.compile(torch.sin, backend=relax_dynamo(pipeline))
    assert_same(compiled(torch.ones(3)), torch.sin(torch.ones(3)))
    assert len(seen) == 1


def test_any_size() -> None:
    torch._dynamo.reset()

    def func(x: Any, y: Any) -> Any:
        return torch.sin(x) + y, x * 2

    compiled = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for n in (3, 5):
        x = torch.randn(n, 4)
        assert_same(compiled(x, x), func(x, x))


def test_windows_as_many_as_the_call_says() -> None:
    torch._dynamo.reset()
    functional = torch.nn.functional

    def func(x: Any, y: Any) -> Any:
        area = functional.interpolate(x, scale_factor=0.5, mode="area")
        largest, places = functional.adaptive_max_pool2d(x, (y.shape[0], 3), True)
        return area, largest, places, functional.adaptive_avg_pool1d(x[0], y.shape[0])

    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for shape, count in (((2, 4, 9, 12), 3), ((1, 4, 14, 7), 2)):
        x, y = torch.randn(shape), torch.zeros(count)
        assert_same(fast(x, y), func(x, y))


def test_frames_of_sound_are_centred() -> None:
    """torch's function pads by half a window, its operator does not."""
    torch._dynamo.reset()

    def func(x: Any, window: Any) -> Any:
        first = torch.stft(x, 16, 4, 16, window, True, "constant", return_complex=True)
        return torch.view_as_real(first), x.stft(16, 8, window=window, return_complex=True).abs()

    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for shape in ((2, 100), (3, 77)):
        x, window = torch.randn(shape), torch.hann_window(16)
        assert_same(fast(x, window), func(x, window))


def test_the_weights_of_an_encoder_layer_tell_the_width() -> None:
    torch._dynamo.reset()
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    fast = torch.compile(layer, backend=relax_dynamo(), dynamic=True)
    with torch.no_grad():
        for shape in ((2, 5, 8), (3, 4, 8)):
            x = torch.randn(shape)
            assert_same(fast(x), layer(x))


class Branching(torch.nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(10, 4)

    def forward(self, x: Any) -> Any:
        y = self.lin(x)
        if y.sum() > 1e6:
            return y
        return torch.relu(y)


def test_graphs_that_torch_finds() -> None:
    mod = dynamo_capture_subgraphs(Branching(), torch.randn(2, 10))
    names = sorted(var.name_hint for var in mod.get_global_vars())
    assert names == ["subgraph_0", "subgraph_1"]
    last = mod["subgraph_1"]
    assert last.attrs["global_symbol"] == "subgraph_1"
    assert isinstance(last.ret_struct_info, relax.TensorStructInfo)


def test_small_questions() -> None:
    assert device_from_inputs([3, torch.ones(1)]).type == "cpu"
    assert device_from_inputs([3]) is None
    assert llvm_target() == "llvm"
    with pytest.raises(TypeError, match="GraphModule"):
        relax_dynamo()(3, [])


def test_sizes_and_numbers_among_inputs_and_results() -> None:
    def func(x: Any, n: int) -> Any:
        if x.sum() > 0:  # torch makes a graph of each part
            x = x * 2
        return x.reshape(-1, n) * n, x.shape[0], n + 1

    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for n in (2, 3, 2):
        x = torch.randn(4, n * 2)
        found, wanted = fast(x, n), func(x, n)
        torch.testing.assert_close(found[0], wanted[0])
        assert found[1:] == wanted[1:]


def add_and_double(x: Any, y: Any) -> Any:
    x.add_(y)
    return x * 2


def parts(x: Any, y: Any) -> Any:
    x[0] = 1
    x[:, 1] *= 2
    x[1].mul_(3)
    return None


def into(x: Any, y: Any) -> Any:
    return torch.add(x, 1, out=y)


def views(x: Any, y: Any) -> Any:
    row = x[0]
    row += y[1]
    return x.t(), row


@pytest.mark.parametrize("func", [add_and_double, parts, into, views])
def test_inputs_that_are_written_to(func: Any) -> None:
    torch._dynamo.reset()
    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for n in (3, 5):
        given, same = torch.rand(2, n, 4), torch.rand(2, n, 4)
        same.copy_(given)
        wanted, found = func(*given), fast(*same)
        assert_same(same, given)
        if wanted is not None:
            assert_same(found, wanted)


class Skips(torch.nn.Module):
    """What is halved and doubled again meets what never was, whose extents nothing proves equal."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.norm = torch.nn.ConvTranspose2d(4, 4, 2, 2), torch.nn.GroupNorm(2, 8)

    def forward(self, x: Any) -> Any:
        whole = self.up(torch.nn.functional.avg_pool2d(x, 2))
        return self.norm(torch.cat([whole, x], 1)), torch.stack([whole, x]).flatten(1)


def test_extents_that_agree_when_run() -> None:
    model = Skips().eval()
    fast = torch.compile(model, backend=relax_dynamo(), dynamic=True)
    with torch.no_grad():
        for size in ((2, 4, 6, 8), (3, 4, 10, 4)):
            x = torch.rand(size)
            assert_same(fast(x), model(x))


def test_extents_that_are_1_where_torch_traces() -> None:
    def func(x: Any, bias: Any) -> Any:  # as MPT reads its table of positions
        rows, columns = (max(0, bias.shape[i] - x.shape[i]) for i in (1, 2))
        return x + bias[:, rows:, columns:]

    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    bias = torch.rand(4, 1, 9)
    for size in (5, 9, 6):
        x = torch.rand(4, size, size)
        assert_same(fast(x, bias), func(x, bias))


def made_and_written(x: Any) -> Any:
    y = x * 2
    y.add_(1)
    torch.nn.functional.relu(y, inplace=True)
    return y + x.shape[0]


def seen_through_a_view(x: Any) -> Any:
    y = x * 2
    row = y[0]
    y.add_(1)
    return row


@pytest.mark.parametrize("func", [made_and_written, seen_through_a_view])
def test_writes_to_what_was_just_made(func: Any) -> None:
    torch._dynamo.reset()
    fast = torch.compile(func, backend=relax_dynamo(), dynamic=True)
    for n in (3, 5):
        x = torch.rand(n, 4)
        assert_same(fast(x), func(x))


class Numbers(torch.nn.Module):
    """Numbers of its own: those that operators need as numbers, and those that may change."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.scale = torch.nn.LayerNorm(6), 0.37
        self.bend = torch.nn.LeakyReLU(0.07)

    def forward(self, x: Any) -> Any:
        y = self.norm(x) * self.scale
        return y, self.bend(y), y.view(torch.Size([x.shape[0], 2, -1]))


def test_numbers_of_a_model_that_torch_leaves_open() -> None:
    model = Numbers().eval()
    fast = torch.compile(model, backend=relax_dynamo(), dynamic=True)
    with torch.no_grad():
        for rows in (3, 5, 4):
            x = torch.rand(rows, 6)
            assert_same(fast(x), model(x))
            model.scale, model.norm.eps = 0.9, 0.3


@pytest.mark.parametrize("dynamic", [False, True])
def test_casts_of_autocast_are_made(dynamic: bool) -> None:
    layer = torch.nn.Linear(4, 5)

    def func(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            inner = layer(x).relu()
            with torch.autocast("cpu", enabled=False):
                outer = x @ x.T
        return inner, outer

    torch._dynamo.reset()
    fast = torch.compile(func, backend=relax_dynamo(), dynamic=dynamic)
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found, wanted = fast(x), func(x)
    assert found[0].dtype == torch.bfloat16
    torch.testing.assert_close(found[0], wanted[0], rtol=1e-2, atol=1e-2)
    assert_same(found[1], wanted[1])


def test_graphs_without_their_casts_are_refused() -> None:
    def func(x: Any) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return x @ x.T

    with pytest.raises(Exception, match="autocast"):
        dynamo_capture_subgraphs(func, torch.ones(3, 4))


@pytest.mark.parametrize(
    "func", [lambda a: a.clone(), lambda a: a.clone().view(-1), lambda a: (a.clone(), a)]
)
def test_copies_are_apart_from_what_was_given(func: Any) -> None:
    """And views of it are not."""
    fast = torch.compile(func, backend=relax_dynamo())
    x = torch.arange(4.0)
    wanted = func(x)
    with torch.no_grad():
        found = fast(x)
    x.add_(1)
    for a, b in zip(found if isinstance(found, tuple) else [found],
                    wanted if isinstance(wanted, tuple) else [wanted]):  # fmt: skip
        torch.testing.assert_close(a, b)


def test_copies_of_results_are_apart_from_these() -> None:
    def func(a: Any) -> Any:
        b = a + 1
        return b, b.clone(), b

    x = torch.arange(4.0)
    with torch.no_grad():
        first, copy, same = torch.compile(func, backend=relax_dynamo())(x)
    first.mul_(2)
    torch.testing.assert_close(copy, x + 1)
    torch.testing.assert_close(same, first)


@pytest.mark.parametrize("dynamic", [True, False])
def test_functions_of_numpy(dynamic: bool) -> None:
    import numpy as np

    def func(x: Any) -> Any:
        x = x * 2
        x *= np.sqrt(x.shape[1])
        return x, torch.from_numpy(np.sum(np.exp(x.numpy()), axis=-1))

    torch._dynamo.reset()
    x = torch.rand(3, 5)
    with torch.no_grad():
        assert_same(torch.compile(func, backend=relax_dynamo(), dynamic=dynamic)(x), func(x))
