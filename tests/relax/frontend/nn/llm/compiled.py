"""The kernels of a cache, compiled for the CPU, in the places where tests of caches take them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import tvm
from tests.runtime import test_kv_cache as scenarios
from tvm import tir
from tvm.relax.frontend.nn.llm import kv_cache, tree_attn
from tvm.relax.frontend.nn.llm.position_embedding import llama_rope_with_position_map

H, KV, DIM, DTYPE = scenarios.HEADS, scenarios.KV, scenarios.DIM, "float32"


def compiled(func: tir.PrimFunc) -> Callable[..., Any]:
    """The machine code of a kernel."""
    found: Callable[..., Any] = tvm.compile(func, "llvm")[str(func.attrs["global_symbol"])]
    return found


@cache
def kernels(page: int) -> dict[str, Any]:
    """All kernels of a cache with pages of this size."""
    shape = (KV, H, DIM, DTYPE)
    made: dict[str, Any] = {
        "prefill": kv_cache._attention_prefill_cpu(*shape, False, {}, page),
        "decode": kv_cache._attention_decode_cpu(*shape, False, {}, page),
        "prefill_sliding": kv_cache._attention_prefill_cpu(*shape, True, {}, page),
        "decode_sliding": kv_cache._attention_decode_cpu(*shape, True, {}, page),
        "ragged": kv_cache._attention_prefill_ragged_cpu(KV, H, DIM, DIM, DTYPE, {}),
        "tree_paged": tree_attn.tree_attn_with_paged_kv_cache_cpu(*shape, {}, page),
        "tree": tree_attn.tree_attn_cpu(*shape, {}),
    }
    made = {name: ["tir", compiled(func)] for name, func in made.items()}
    rotary = llama_rope_with_position_map(
        scenarios.THETA, scenarios.SCALE, DIM, H, KV, DTYPE, {}
    )
    return {
        **made,
        "append": compiled(kv_cache._kv_cache_transpose_append(KV, DIM, DTYPE, page)),
        "merge": [compiled(kv_cache._merge_state_inplace_cpu(DTYPE))],
        "rotary": compiled(rotary),
        "copy": compiled(kv_cache._copy_single_page_cpu(KV, page, DIM, DTYPE)),
        "debug": compiled(kv_cache._kv_cache_debug_get_kv(scenarios.LAYERS, KV, DIM, DTYPE)),
        "compact": compiled(kv_cache._compact_kv_copy_cpu(KV, DIM, DTYPE, page)),
    }
