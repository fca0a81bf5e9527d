"""Modules of one attention."""

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.relax import interp, testing
from tvm.relax.testing.attention import (
    get_relax_attention_module,
    get_relax_stacked_attention_module,
)

pytestmark = pytest.mark.cpu
B, S, N, H, V = 2, 3, 2, 4, 4


def _random(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def _attention(q, k, v, bias=0.0, scale=None):
    scores = np.einsum("bsnh,btnh->bnst", q, k) * (q.shape[-1] ** -0.5 if scale is None else scale)
    scores = scores + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bnst,btnh->bsnh", weights / weights.sum(-1, keepdims=True), v)


def test_separate_operands():
    q, k, v = _random(B, S, N, H), _random(B, 5, N, H), _random(B, 5, N, V)
    bias = _random(B, N, S, 5)
    mod = get_relax_attention_module(
        q.shape, k.shape, v.shape, dtype="float32", bias_shape=bias.shape, qk_scale=0.3
    )
    found = np.asarray(interp.run(mod, q, k, v, bias))
    np.testing.assert_allclose(found, _attention(q, k, v, bias, 0.3), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("cut", ["split", "strided_slice"])
@pytest.mark.parametrize("layout", ["BS3NH", "SBN3H"])
def test_stacked(cut, layout):
    parts = [_random(B, S, N, size) + i for i, size in enumerate((H, H, V))]
    if layout == "BS3NH":
        qkv = np.concatenate([part.reshape(B, S, -1) for part in parts], axis=2)
    else:
        qkv = np.concatenate(parts, axis=3).transpose(1, 0, 2, 3)
    mod = get_relax_stacked_attention_module(qkv, B, S, N, H, V, cut, layout=layout)
    found = np.asarray(interp.run(mod, qkv))
    if layout == "SBN3H":
        found = found.transpose(1, 0, 2, 3)
    np.testing.assert_allclose(found, _attention(*parts), rtol=1e-4, atol=1e-5)


def test_refuses_what_it_does_not_know():
    qkv = _random(B, S, 3 * N * H)
    with pytest.raises(TVMError, match="BS3NH, SBN3H"):
        get_relax_stacked_attention_module(qkv, B, S, N, H, V, "split", layout="X")
    with pytest.raises(TVMError, match="split, strided_slice"):
        get_relax_stacked_attention_module(qkv, B, S, N, H, V, "x")


@pytest.mark.parametrize("scale", [None, 0.5])
def test_attention_written_out_is_attention(scale: float | None) -> None:
    shape = (2, 4, 3, 8)
    mod = testing.get_relax_attention_rewrite_module(
        shape, shape, shape, shape, "float32", scale=scale
    )
    fused = testing.get_relax_attention_module(
        shape, shape, shape, dtype="float32", qk_scale=1.0 if scale is None else scale
    )
    rng = np.random.default_rng(0)
    values = [rng.standard_normal(shape).astype("float32") for _ in range(3)]
    np.testing.assert_allclose(
        interp.run(mod, *values), interp.run(fused, *values), rtol=1e-4, atol=1e-5
    )
