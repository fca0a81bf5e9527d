"""Attention by blocks of threads: several tiles of keys, dimensions that fill no block, groups."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backend.device import harness
from tests.runtime.attention_kernels import attend
from tvm.ir.module import IRModule
from tvm.relax.frontend.nn.llm.kv_cache import _attention_sequence_prefill

pytestmark = pytest.mark.cpu


@pytest.mark.covering(1)
@pytest.mark.parametrize("kind", [*harness.LANGUAGES, *harness.LLVM_TARGETS])
@pytest.mark.parametrize(("rows", "keys", "heads", "groups", "dim", "causal"), [
    (3, 150, 4, 2, 40, 1), (2, 64, 2, 2, 64, 0), (70, 70, 1, 1, 72, 1),
])  # fmt: skip
def test_rows_of_a_batch(
    kind: str, rows: int, keys: int, heads: int, groups: int, dim: int, causal: int
) -> None:
    target = harness.target_of(kind)
    func = _attention_sequence_prefill(groups, heads, dim, "float32", target, causal, 0.2)
    assert "threadIdx.x" in func.script()
    library = harness.built(IRModule({"main": func.with_attr("global_symbol", "main")}), kind)
    rng = np.random.default_rng(0)
    q, k, v = (
        rng.standard_normal((2, count, width, dim)).astype("float32")
        for count, width in ((rows, heads), (keys, groups), (keys, groups))
    )
    out, lse = np.zeros_like(q), np.zeros((2, rows, heads), "float32")
    device = target.get_target_device_type()
    with harness.launches_here():
        library["main"](*(harness.on_device(a, device) for a in (q, k, v, out, lse)))
    seen = np.arange(keys)[None] <= np.arange(rows)[:, None] + keys - rows
    for b in range(2):
        wanted = attend(q[b], k[b], v[b], 0.2, seen if causal else np.ones_like(seen))
        np.testing.assert_allclose(out[b], wanted[0], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(lse[b], wanted[1], rtol=1e-4, atol=1e-5)
