"""Layers: as text, and as numbers with random parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from tests.relax.frontend.nn.running import run
from tests.relax.frontend.nn.test_op import conv, norm, softmax
from tvm.ir import assert_structural_equal
from tvm.relax import interp
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(1)
X = RNG.standard_normal((2, 4, 6)).astype("float32")
PICTURE = RNG.standard_normal((1, 4, 5, 6)).astype("float32")
VOLUME = RNG.standard_normal((1, 4, 3, 4, 5)).astype("float32")


def check(module: nn.Module, given: Any, wanted: Any) -> None:
    found, params = run(module, given)
    np.testing.assert_allclose(found, wanted(given, **params), rtol=1e-4, atol=1e-5)


def test_activations() -> None:
    check(nn.ReLU(), X, lambda x: np.maximum(x, 0))
    check(nn.SiLU(), X, lambda x: x * scipy.special.expit(x))
    check(nn.GELU(), X, lambda x: x * scipy.special.ndtr(x))
    check(nn.Identity(), X, lambda x: x)
    stack = nn.ModuleList([nn.ReLU(), nn.Linear(6, 3, bias=False)])
    check(stack, X, lambda x, **p: np.maximum(x, 0) @ p["1.weight"].T)


def test_dense_layers() -> None:
    check(nn.Linear(6, 3), X, lambda x, weight, bias: x @ weight.T + bias)
    check(nn.Linear(6, 3, bias=False), X, lambda x, weight: x @ weight.T)
    table = nn.Embedding(9, 4)
    check(table, np.array([3, 8, 0]), lambda x, weight: weight[x])
    check(table, np.array([[3, 8], [0, 1]]), lambda x, weight: weight[x])


def test_convolutions() -> None:
    check(nn.Conv1D(4, 3, 2), X, lambda x, weight, bias: conv(x, weight, 1) + bias[:, None])
    check(nn.Conv2D(4, 3, 2, bias=False), PICTURE, lambda x, weight: conv(x, weight, 2))
    check(nn.Conv2D(4, 3, [3, 1]), PICTURE,
          lambda x, weight, bias: conv(x, weight, 2) + bias[:, None, None])  # fmt: skip
    check(nn.Conv3D(4, 3, 2), VOLUME,
          lambda x, weight, bias: conv(x, weight, 3) + bias[:, None, None, None])  # fmt: skip

    def transposed(x: Any, weight: Any, bias: Any) -> Any:
        around = np.pad(x, ((0, 0), (0, 0), (1, 1)))
        return conv(around, weight.swapaxes(0, 1)[:, :, ::-1], 1) + bias[:, None]

    check(nn.ConvTranspose1D(4, 3, 2), X, transposed)


def test_norms() -> None:
    check(nn.LayerNorm(6), X, lambda x, weight, bias: norm(x, (2,)) * weight + bias)
    check(nn.LayerNorm(6, elementwise_affine=False), X, lambda x: norm(x, (2,)))

    def rms(x: Any, weight: Any, bias: Any) -> Any:
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * weight + bias

    check(nn.RMSNorm(6, -1), X, rms)

    def groups(x: Any, weight: Any, bias: Any) -> Any:
        normal = norm(x.reshape(2, 2, 12), (2,)).reshape(x.shape)
        return normal * weight[:, None] + bias[:, None]

    check(nn.GroupNorm(2, 4), X, groups)


def test_parts_of_diffusion_models() -> None:
    times = np.array([1.0, 5.0], "float32")
    found, _ = run(nn.Timesteps(8), times)
    assert found.shape == (2, 8)

    def embed(x: Any, **p: Any) -> Any:
        hidden = x @ p["linear_1.weight"].T + p["linear_1.bias"]
        hidden = hidden * scipy.special.expit(hidden)
        return hidden @ p["linear_2.weight"].T + p["linear_2.bias"]

    check(nn.TimestepEmbedding(6, 5), X[0], embed)

    def attend(x: Any, **p: Any) -> Any:
        q, k, v = ((x @ p[f"to_{n}.weight"].T).reshape(2, 4, 2, 3) for n in "qkv")
        weights = softmax(np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(3))
        out = np.einsum("bhij,bjhd->bihd", weights, v).reshape(2, 4, 6)
        return out @ p["to_out.0.weight"].T + p["to_out.0.bias"]

    check(nn.Attention(6, heads=2, dim_head=3), X, attend)
    groups = nn.Attention(6, heads=2, dim_head=4, norm_num_groups=2).group_norm
    assert groups is not None
    assert groups.num_channels == 6


def test_a_cache_grows_from_call_to_call() -> None:
    class Remembers(nn.Module):
        def __init__(self) -> None:
            self.cache = nn.KVCache(2, [3])

        def forward(self, x: nn.Tensor, total: Any) -> nn.Tensor:
            self.cache.append(x)
            return self.cache.view(total)

    forms = {"x": spec.Tensor(["n", 3], "float32"), "total": "int"}
    mod, _ = Remembers().export_tvm({"forward": forms})
    (cache,) = interp.run(mod, name="_initialize_effect")
    parts = [RNG.random((n, 3)).astype("float32") for n in (1, 2, 4)]
    for i, part in enumerate(parts):
        seen = np.concatenate(parts[: i + 1])
        found, (cache,) = interp.run(mod, part, (len(seen),), cache, name="forward")
        np.testing.assert_array_equal(np.asarray(found), seen)


def test_a_cache_keeps_one_type() -> None:
    class Mixes(nn.Module):
        def __init__(self) -> None:
            self.cache = nn.KVCache(2, [3])

        def forward(self, x: nn.Tensor) -> nn.Tensor:
            self.cache.append(x)
            return x

    with pytest.raises(TypeError, match='dtype "float32", but got "float16"'):
        Mixes().export_tvm({"forward": {"x": spec.Tensor([1, 3], "float16")}})
    with pytest.raises(RuntimeError, match="outside of a function"):
        Mixes().cache.view(3)  # type: ignore[arg-type]


def test_as_text() -> None:
    @I.ir_module
    class Expected:
        @R.function
        def forward(
            x: R.Tensor((1, 4), "float32"),
            weight: R.Tensor((8, 4), "float32"),
            bias: R.Tensor((8,), "float32"),
        ) -> R.Tensor((1, 8), "float32"):
            R.func_attr({"num_input": 1})
            with R.dataflow():
                permute_dims = R.permute_dims(weight, axes=None)
                matmul = R.matmul(x, permute_dims, out_dtype="void")
                add = R.add(matmul, bias)
                gv = add
                R.output(gv)
            return gv

    mod, params = nn.Linear(4, 8).export_tvm({"forward": {"x": spec.Tensor([1, 4], "float32")}})
    assert [name for name, _ in params] == ["weight", "bias"]
    assert_structural_equal(mod, Expected)


def test_dtypes_change_together() -> None:
    layer = nn.Linear(4, 8, out_dtype="float32")
    layer.to("float16")
    assert (layer.weight.dtype, layer.bias.dtype) == ("float16", "float32")
    both = nn.ModuleList([nn.Linear(2, 2), nn.LayerNorm(2)])
    both.to("float64")
    assert {param.dtype for param in both.parameters()} == {"float64"}
    with pytest.raises(ValueError, match="act_fn 'relu'"):
        nn.TimestepEmbedding(2, 2, act_fn="relu")
