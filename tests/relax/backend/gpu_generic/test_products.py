"""Attention as products, and products of halves summed as float32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.runtime.device_api.programs import floats, module
from tvm.relax import interp
from tvm.relax import op as o
from tvm.relax.backend.gpu_generic.products import AttentionAsProducts, WideSums

Q, K = floats(2, 5, 3, 8), floats(2, 7, 3, 8, seed=6)
BIAS = floats(2, 3, 5, 7, seed=7)


@pytest.mark.parametrize(
    "options",
    [{}, {"scale": 0.3}, {"causal_mask": "TopLeft"}, {"causal_mask": "BottomRight"},
     {"causal_mask": "BottomRight", "window_size": 3}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("biased", [False, True])
def test_attention(options: dict[str, Any], dtype: str, biased: bool) -> None:
    arrays = [x.astype(dtype) for x in (Q, K, K, *([BIAS] if biased else []))]
    mod = module(lambda *x: o.nn.attention(*x, **options), *arrays)
    new = AttentionAsProducts()(mod)
    assert "attention" not in new.script()
    wanted, found = (interp.run(m["main"], *arrays) for m in (mod, new))
    limit = 1e-5 if dtype == "float32" else 3e-3
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted), rtol=limit, atol=limit)


def test_products_of_halves_are_summed_as_float32() -> None:
    a, b = floats(4, 9).astype("float16"), floats(9, 6).astype("float16")
    text = WideSums()(module(o.matmul, a, b)).script()
    assert 'R.matmul(x0, x1, out_dtype="float32")' in text
    assert 'R.astype(' in text


@pytest.mark.parametrize(
    "arrays", [(floats(4, 9), floats(9, 6)),
               (floats(1, 9).astype("float16"), floats(9, 6).astype("float16"))],
    ids=["single", "vector"],
)  # fmt: skip
def test_other_products_are_left(arrays: Any) -> None:
    mod = module(o.matmul, *arrays)
    assert WideSums()(mod)["main"] is mod["main"]
