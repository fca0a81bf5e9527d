"""Attention by functions of the places of scores."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.relax.frontend.torch import from_exported_program

from .running import assert_same, exported, interpreted

torch = pytest.importorskip("torch")


def _normal(*shape: int) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


SLOPES = _normal(4)


def _plain(q: Any, k: Any, v: Any) -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(q, k, v, scale=0.3)


def _sloped(q: Any, k: Any, v: Any) -> Any:
    """The scores know their head and places, and read a table."""
    from torch.nn.attention.flex_attention import flex_attention

    def change(score: Any, batch: Any, head: Any, row: Any, column: Any) -> Any:
        return score + SLOPES[head] * (column - row) + batch

    return flex_attention(q, k, v, score_mod=change)


def _causal(q: Any, k: Any, v: Any) -> Any:
    """The first rows see nothing."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def keep(batch: Any, head: Any, row: Any, column: Any) -> Any:
        return row > column + head

    mask = create_block_mask(keep, None, q.shape[1], q.shape[2], k.shape[2], device="cpu")
    return flex_attention(q, k, v, block_mask=mask)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("func", [_plain, _sloped, _causal], ids=lambda func: func.__name__)
def test_of_places(func: Any) -> None:
    given = _normal(2, 4, 6, 8), _normal(2, 4, 5, 8), _normal(2, 4, 5, 8) + 1
    mod = from_exported_program(exported(func, *given))
    assert_same(interpreted(mod, list(given)), func(*given))


@pytest.mark.filterwarnings("ignore")
def test_heads_in_groups() -> None:
    from torch.nn.attention.flex_attention import flex_attention

    def func(q: Any, k: Any) -> Any:
        return flex_attention(q, k, k, enable_gqa=True)

    given = _normal(2, 4, 6, 8), _normal(2, 2, 6, 8)
    mod = from_exported_program(exported(func, *given))
    assert_same(interpreted(mod, list(given)), func(*given))
