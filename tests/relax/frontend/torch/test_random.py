"""Random numbers: shapes and types are torch's, numbers are spread as torch's are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm.error import OpAttributeUnImplemented
from tvm.relax.frontend.torch import from_exported_program, from_fx, relax_dynamo

from .running import compiled, exported, module_of

torch = pytest.importorskip("torch")
COUNT = 20_000
WEIGHTS = torch.tensor([[0.1, 0.0, 0.6, 0.3]])


def _drawn(func: Callable[..., Any], *given: Any) -> list[np.ndarray]:
    rows = tuple({0: torch.export.Dim.AUTO} for _ in given)
    mod = from_exported_program(exported(func, *given, dynamic_shapes=rows))
    tvm.get_global_func("tvm.contrib.random.seed")(3)
    found = compiled(mod)(*given)
    wanted = func(*given)
    for have, want in zip(found, wanted, strict=True):
        assert tuple(have.shape) == tuple(want.shape)
        assert str(have.dtype) == str(want.dtype).removeprefix("torch.")
    return [have.numpy() for have in found]


ones = torch.ones(COUNT)
SPREAD = [  # what draws, and mean and deviation of what it draws
    ("rand", lambda x: torch.rand(x.shape[0]), 0.5, 0.289),
    ("rand_like", lambda x: torch.rand_like(x, dtype=torch.float64), 0.5, 0.289),
    ("randn", lambda x: torch.randn((x.shape[0], 2)), 0, 1),
    ("randn_like", torch.randn_like, 0, 1),
    ("randint", lambda x: torch.randint(7, (x.shape[0],)), 3, 2),
    ("randint of limits", lambda x: torch.randint(-3, 9, (x.shape[0],), dtype=torch.int32),
     2.5, 3.45),
    ("randint_like", lambda x: torch.randint_like(x, 5), 2, 1.414),
    ("randint_like of limits", lambda x: torch.randint_like(x, 2, 5), 3, 0.816),
    ("uniform_", lambda x: torch.empty_like(x).uniform_(-2, 4), 1, 1.732),
    ("normal_", lambda x: torch.empty_like(x).normal_(1, 3), 1, 3),
    ("exponential_", lambda x: torch.empty_like(x).exponential_(2.0), 0.5, 0.5),
    ("geometric_", lambda x: torch.empty_like(x).geometric_(0.3), 3.333, 2.79),
    ("log_normal_", lambda x: torch.empty_like(x).log_normal_(0.5, 0.2), 1.682, 0.34),
    ("normal of means", lambda x: torch.normal(x * 3, 2.0), 3, 2),
    ("normal of deviations", lambda x: torch.normal(1.0, x * 2), 1, 2),
    ("normal of both", lambda x: torch.normal(x, x), 1, 1),
    ("normal of a size", lambda x: torch.normal(1.0, 2.0, (x.shape[0],)), 1, 2),
    ("bernoulli", lambda x: torch.bernoulli(x * 0.3), 0.3, 0.458),
    ("bernoulli of one chance", lambda x: torch.bernoulli(x, 0.2), 0.2, 0.4),
    ("bernoulli_", lambda x: torch.empty_like(x).bernoulli_(0.7), 0.7, 0.458),
]  # fmt: skip


@pytest.mark.parametrize(
    ("draw", "mean", "deviation"), [row[1:] for row in SPREAD], ids=[row[0] for row in SPREAD]
)
def test_mean_and_deviation(draw: Callable[[Any], Any], mean: float, deviation: float) -> None:
    (found,) = _drawn(lambda x: (draw(x),), ones)
    assert abs(found.mean() - mean) < 0.05 * max(deviation, 0.2)
    assert abs(found.std() - deviation) < 0.05 * deviation


def test_heavy_tails_have_their_quartiles() -> None:
    (found,) = _drawn(lambda x: (torch.empty_like(x).cauchy_(1, 2),), ones)
    np.testing.assert_allclose(np.quantile(found, [0.25, 0.5, 0.75]), [-1, 1, 3], atol=0.15)


@pytest.mark.parametrize(("dtype", "most"), [("float16", 1 - 2**-11), ("bfloat16", 1 - 2**-8)])
def test_numbers_of_few_bits_stay_below_one(dtype: str, most: float) -> None:
    kind = getattr(torch, dtype)
    found = _drawn(lambda x: (torch.rand_like(x, dtype=kind).float(),), ones)[0]
    assert found.min() == 0
    assert most - 2**-7 <= found.max() <= most


def test_an_order_of_numbers() -> None:
    (found,) = _drawn(lambda x: (torch.randperm(x.shape[0]),), torch.ones(50))
    assert sorted(found.tolist()) == list(range(50))
    assert found.tolist() != list(range(50))


def test_places_by_their_weights() -> None:
    once, often = _drawn(
        lambda w: (torch.multinomial(w, 2), torch.multinomial(w, 5, replacement=True)),
        WEIGHTS.repeat(4000, 1),
    )
    shares = np.bincount(often.ravel(), minlength=4) / often.size
    np.testing.assert_allclose(shares, [0.1, 0, 0.6, 0.3], atol=0.02)
    assert (once[:, 0] != once[:, 1]).all()
    first = np.bincount(once[:, 0], minlength=4) / len(once)
    np.testing.assert_allclose(first, [0.1, 0, 0.6, 0.3], atol=0.03)


def test_in_traced_graphs() -> None:
    def noisy(x: Any) -> Any:
        return x + torch.rand(3, 4) + torch.randn(size=(3, 4)) * 0

    mod = from_fx(torch.fx.symbolic_trace(module_of(noisy)), [((3, 4), "float32")])
    found = compiled(mod)(torch.ones(3, 4)).numpy()
    assert found.min() >= 1
    assert found.max() < 2
    torch._dynamo.reset()
    fast = torch.compile(lambda x: x + torch.rand_like(x), backend=relax_dynamo(), dynamic=True)
    for n in (5, 9):
        got = fast(torch.ones(n, 3))
        assert got.shape == (n, 3)
        assert 1 <= float(got.min()) < float(got.max()) < 2


def test_integers_are_not_drawn_evenly_of_a_range_of_reals() -> None:
    program = exported(lambda x: torch.empty_like(x).uniform_(), torch.ones(3))
    for node in program.graph.nodes:
        if node.name == "empty_like":
            node.kwargs = {"dtype": torch.int32, "pin_memory": False}
    with pytest.raises(OpAttributeUnImplemented, match="a type of floats"):
        from_exported_program(program)
