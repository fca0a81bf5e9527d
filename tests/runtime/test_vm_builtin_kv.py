"""Creating caches: what is refused, and which state a function takes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.runtime import attention_kernels as kernels
from tvm.error import TVMError
from tvm.ffi import get_global_func
from tvm.runtime import ShapeTuple, empty

pytestmark = pytest.mark.pure


def _call(name: str, *args: Any) -> Any:
    return get_global_func(f"vm.builtin.{name}")(*args)


def _arguments(**changed: Any) -> list[Any]:
    given = {
        "config": ShapeTuple([2, 16, 8, 4, 0]), "layers": ShapeTuple([0, 1]), "q": 2, "kv": 1,
        "qk_dim": 4, "v_dim": 4, "kinds": ShapeTuple([0]), "transfer": False, "rope": 0,
        "scale": 1.0, "theta": 1e4, "factors": None, "init": empty((), "float32"),
        "append": kernels.append, "append_mla": None, "ragged": [], "prefill": [], "decode": [],
        "sliding": [], "decode_sliding": [], "tree_paged": [], "tree": [], "mla": [],
        "merge": [kernels.merge], "rotary": kernels.split_rotary_of(1e4, 1.0),
        "copy": kernels.copy_page, "debug": kernels.debug_get, "compact": kernels.compact,
    }  # fmt: skip
    return list({**given, **changed}.values())


def test_a_new_cache_is_empty() -> None:
    cache = _call("paged_attention_kv_cache_create", *_arguments())
    assert _call("attention_kv_cache_empty", cache)
    assert _call("attention_kv_cache_get_num_available_pages", cache) == 5
    _call("kv_state_add_sequence", cache, 1)
    assert not _call("attention_kv_cache_empty", cache)
    _call("kv_state_clear", cache)
    assert _call("attention_kv_cache_empty", cache)


@pytest.mark.parametrize(
    ("match", "changed"),
    [
        ("Merge inplace function is not defined", {"merge": []}),
        ("'flashinfer' with 3 functions", {"prefill": ["flashinfer", *[kernels.prefill] * 3]}),
        ("needs NVSHMEM", {"transfer": True}),
        ("cache_config", {"config": ShapeTuple([1, 2])}),
        ("0 kinds of attention", {"kinds": ShapeTuple([])}),
        ("29|28", {"compact": None, "more": 1, "most": 2}),
    ],
)
def test_what_cannot_be_created(match: str, changed: dict[str, Any]) -> None:
    with pytest.raises(TVMError, match=match):
        _call("paged_attention_kv_cache_create", *_arguments(**changed))


def test_a_missing_kernel_is_named_when_it_is_needed() -> None:
    cache = _call("paged_attention_kv_cache_create", *_arguments())
    _call("kv_state_add_sequence", cache, 0)
    _call("kv_state_begin_forward", cache, ShapeTuple([0]), ShapeTuple([2]))
    with pytest.raises(TVMError, match="without f_attention_prefill_ragged"):
        _call("attention_kv_cache_attention_with_fused_qkv", cache, 0, 1.0,
              empty((2, 4, 4), "float32"), empty((2, 2, 4), "float32"))  # fmt: skip


def test_a_number_stands_for_no_function() -> None:
    cache = _call("paged_attention_kv_cache_create", *_arguments(append=0, mla=0))
    assert cache.kernels.append is None
    assert cache.kernels.prefill_mla is None


def test_states_are_told_from_other_values() -> None:
    for name in ("kv_state_clear", "kv_state_end_forward", "attention_kv_cache_empty"):
        with pytest.raises(TypeError, match="a paged KV cache"):
            _call(name, 3)
