"""A cache within a model: exported, compiled, and run beside numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.runtime import attention_kernels as reference
from tvm import relax as rx
from tvm import tir
from tvm.error import TVMError
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec
from tvm.relax.frontend.nn.llm import kv_cache
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from tvm.relax.frontend.nn.llm.position_embedding import llama_rope
from tvm.runtime import ShapeTuple, tensor
from tvm.target import Target

pytestmark = pytest.mark.cpu
H, KV, DIM, LATENT, THETA, SCALE = 4, 2, 8, 6, 1e4, 0.3
SIZES = ("max_batch_size", "max_total", "chunk", "page", "sliding")


def cache(kind: str, sizes: tuple[tir.Var, ...], dim: int, value_dim: int, kv: int) -> PagedKVCache:
    return TIRPagedKVCache(
        kind, *sizes, rx.ShapeExpr([0, 2]), 2, H, kv, dim, value_dim, DIM, DIM,  # type: ignore[arg-type]
        RopeMode.NONE if kind == "mla" else RopeMode.NORMAL, 1, int(THETA), {}, rx.PrimValue(0),
        dim, False, "float32", Target("llvm"),
    )  # fmt: skip


class Model(nn.Module):
    def create(
        self, max_batch_size: tir.Var, max_total: tir.Var, chunk: tir.Var, page: tir.Var,
        sliding: tir.Var,
    ) -> PagedKVCache:  # fmt: skip
        return cache("mha", (max_batch_size, max_total, chunk, page, sliding), DIM, DIM, KV)

    def step(self, qkv: nn.Tensor, held: PagedKVCache) -> Any:
        out = held.attention_with_fused_qkv(0, qkv, H, SCALE)
        return out, held.get_query_positions(qkv.shape[1]), held

    def parts(self, qkv: nn.Tensor, held: PagedKVCache) -> Any:
        q, k, v = nn.op.split(qkv, [H, H + KV], axis=2)
        own, own_lse = held.self_attention(1, q, k, v, SCALE)
        old, old_lse = held.cross_attention(1, q, DIM, SCALE)
        return held.merge_attn_output_inplace(own, own_lse, old, old_lse)

    def turn(self, qkv: nn.Tensor, total: tir.Var) -> Any:
        return llama_rope(qkv, total, THETA, 1.0, H, KV, {})


class Compressed(nn.Module):
    def create(
        self, max_batch_size: tir.Var, max_total: tir.Var, chunk: tir.Var, page: tir.Var,
        sliding: tir.Var,
    ) -> PagedKVCache:  # fmt: skip
        return cache("mla", (max_batch_size, max_total, chunk, page, sliding), DIM, LATENT, 1)

    def step(self, q: nn.Tensor, kv: nn.Tensor, held: PagedKVCache) -> Any:
        held = held.append_mla_kv(0, kv)
        return (*held.cross_attention(0, q, LATENT, SCALE), held)


def machine(model: nn.Module, methods: dict[str, Any]) -> tuple[rx.VirtualMachine, Any]:
    """The compiled model, and a cache that it made."""
    mod, _ = model.export_tvm({"create": dict.fromkeys(SIZES, int), **methods})
    vm = rx.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    return vm, vm["create"](*[ShapeTuple([n]) for n in (4, 64, 16, 16, 0)])


def state(name: str, *args: Any) -> Any:
    return tvm.get_global_func(f"vm.builtin.{name}")(*args)


def test_a_model_with_a_cache() -> None:
    qkv = spec.Tensor((1, "n", H + 2 * KV, DIM), "float32")
    held = spec.Object(object_type=PagedKVCache)
    vm, made = machine(Model(), {
        "step": {"qkv": qkv, "held": held}, "parts": {"qkv": qkv, "held": held},
        "turn": {"qkv": qkv, "total": int},
    })  # fmt: skip
    rng = np.random.default_rng(0)
    tokens = rng.standard_normal((1, 20, H + 2 * KV, DIM)).astype("float32")
    turned = reference.rope(tokens[0, :, : H + KV], np.arange(20), THETA, 1.0)
    wanted, _ = reference.attend(
        turned[:, :H], turned[:, H:], tokens[0, :, H + KV :], SCALE, np.tri(20, dtype=bool)
    )
    state("kv_state_add_sequence", made, 7)
    at = 0
    for count in (14, 1, 5):  # a prompt, a single token, several: beyond one page
        state("kv_state_begin_forward", made, ShapeTuple([7]), ShapeTuple([count]))
        part = tensor(tokens[:, at : at + count].copy())
        out, positions, _ = vm["step"](part, made)
        assert positions.numpy().tolist() == list(range(at, at + count))
        np.testing.assert_allclose(out.numpy()[0], wanted[at : at + count], rtol=1e-3, atol=1e-4)
        assert vm["parts"](part, made)[0].shape == (1, count, H, DIM)
        state("kv_state_end_forward", made)
        at += count
    q, k, v = vm["turn"](tensor(tokens), ShapeTuple([20]))
    np.testing.assert_allclose(q.numpy()[0], turned[:, :H], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(k.numpy()[0], turned[:, H:], rtol=1e-3, atol=1e-4)
    assert (v.numpy() == tokens[:, :, H + KV :]).all()


def test_a_model_with_compressed_keys() -> None:
    vm, made = machine(Compressed(), {"step": {
        "q": spec.Tensor((1, "n", H, DIM), "float32"),
        "kv": spec.Tensor((1, "n", 1, DIM), "float32"),
        "held": spec.Object(object_type=PagedKVCache),
    }})  # fmt: skip
    rng = np.random.default_rng(0)
    q, kv = (rng.standard_normal((1, 5, n, DIM)).astype("float32") for n in (H, 1))
    state("kv_state_add_sequence", made, 0)
    for part in (slice(0, 3), slice(3, 5)):
        count = part.stop - part.start
        state("kv_state_begin_forward", made, ShapeTuple([0]), ShapeTuple([count]))
        out, _, _ = vm["step"](tensor(q[:, part].copy()), tensor(kv[:, part].copy()), made)
        state("kv_state_end_forward", made)
    keys = kv[0, :3]  # what was held before the second pass
    wanted, _ = reference.attend(q[0, 3:], keys, keys[..., :LATENT], SCALE, np.ones((2, 3), bool))
    np.testing.assert_allclose(out.numpy()[0], wanted, rtol=1e-3, atol=1e-4)


def test_threads_of_a_block() -> None:
    target = Target("cuda")
    assert kv_cache.get_max_num_threads_per_block(target) == 1024
    kv_cache.check_thread_limits(target, 32, 8, 4, 1)
    with pytest.raises(ValueError, match="2048 threads"):
        kv_cache.check_thread_limits(target, 32, 8, 8, 1)
    with pytest.raises(ValueError, match="depth 1 on webgpu"):
        kv_cache.check_thread_limits(Target("webgpu"), 4, 4, 4, 2)


def test_a_cache_belongs_to_a_function() -> None:
    held = PagedKVCache(_expr=rx.Var("held", rx.ObjectStructInfo()), _name="held")
    with pytest.raises(TVMError, match="no function is being built"):
        held.get_query_positions(tir.const(3, "int64"))


def test_kernels_of_others_are_not_here() -> None:
    sizes = [tir.Var(name, "int64") for name in SIZES]
    with pytest.raises(TVMError, match="TIRPagedKVCache"):
        kv_cache.FlashInferPagedKVCache(
            "mha", *sizes, rx.ShapeExpr([0, 1]), 1, H, KV, DIM, DIM, 0, 0, RopeMode.NONE, 1, 1, {},
            rx.PrimValue(0), DIM, False, "float32", Target("cuda"),
        )  # fmt: skip


def test_kernels_of_trees_are_found_here_too() -> None:
    from tvm.relax.frontend.nn.llm import kv_cache, tree_attn

    for name in ("tree_attn", "tree_attn_cpu", "tree_attn_with_paged_kv_cache_cpu"):
        assert getattr(kv_cache, name) is getattr(tree_attn, name)
