"""A decoder-only language model over a paged cache; `ModelConfig` says which parts it has.

    x = embed(tokens)
    for each layer:  x += attention(norm(x));  x += mlp(norm(x))
    logits = head(norm(x))

Its methods are those that engines for language models call: `embed`, then `prefill` and `decode`
for one sequence or `batch_prefill` and `batch_decode` for many, and `batch_verify` for logits of
every token. Parameters bear the names of Llama's, with products that read the same rows as one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tvm import relax as rx
from tvm import te, tir
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import op, spec
from tvm.relax.frontend.nn.core import Tensor
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from tvm.target import Target

from . import rotary
from .config import ModelConfig

# the inputs of each method, by the size of hidden states
_METHODS: Final[Mapping[str, Callable[[int], Mapping[str, spec.Tensor]]]] = {
    "embed": lambda _: {"input_ids": spec.Tensor(["tokens"], "int32")},
    "prefill": lambda h: {"input_embed": spec.Tensor([1, "tokens", h], "float32")},
    "decode": lambda h: {"input_embed": spec.Tensor([1, 1, h], "float32")},
    "batch_prefill": lambda h: {
        "input_embeds": spec.Tensor([1, "tokens", h], "float32"),
        "logit_positions": spec.Tensor(["rows"], "int32"),
    },
    "batch_decode": lambda h: {"input_embeds": spec.Tensor(["sequences", 1, h], "float32")},
    "batch_verify": lambda h: {"input_embeds": spec.Tensor([1, "tokens", h], "float32")},
}

# (in, out, bias) -> a module whose call is a product with its weights
MakeLinear = Callable[[int, int, bool], nn.Module]
CACHE_SIZES = (
    "max_batch_size", "max_total_seq_len", "prefill_chunk_size", "page_size",
    "support_sliding_window",
)  # fmt: skip


def plain_linear(inputs: int, outputs: int, bias: bool) -> nn.Module:
    """A product with weights in the dtype of the numbers."""
    return nn.Linear(inputs, outputs, bias=bias)


def _norm(config: ModelConfig, size: int) -> nn.Module:
    if config.norm == "layer":
        return nn.LayerNorm(size, eps=config.norm_eps)
    return nn.RMSNorm(size, axes=-1, epsilon=config.norm_eps, bias=False)


class Attention(nn.Module):
    """Heads that read the cache; groups of query heads share a key and value head."""

    def __init__(self, config: ModelConfig, layer: int, linear: MakeLinear) -> None:
        self.config, self.layer = config, layer
        self.heads, self.kv_heads, self.dim = (
            config.num_heads, config.num_kv_heads, config.head_dim
        )  # fmt: skip
        width = (self.heads + 2 * self.kv_heads) * self.dim
        self.qkv_proj = linear(config.hidden_size, width, config.qkv_bias)
        self.o_proj = linear(self.heads * self.dim, config.hidden_size, config.out_bias)
        if config.qk_norm:
            self.q_norm, self.k_norm = _norm(config, self.dim), _norm(config, self.dim)

    def forward(self, x: Tensor, cache: PagedKVCache, turns: rotary.Table | None) -> Tensor:
        """(batch, length, hidden) -> the same."""
        batch, length, _ = x.shape
        heads, kv, dim = self.heads, self.kv_heads, self.dim
        qkv = op.reshape(self.qkv_proj(x), (batch, length, heads + 2 * kv, dim))
        if self.config.qk_norm:
            q, k, v = op.split(qkv, [heads, heads + kv], axis=2)
            qkv = op.concat([self.q_norm(q), self.k_norm(k), v], dim=2)
        if turns is not None:
            qkv = rotary.turn(qkv, turns, heads + kv, self.config.rotary_dim)
        out = cache.attention_with_fused_qkv(self.layer, qkv, heads, self.config.score_scale)
        result: Tensor = self.o_proj(op.reshape(out, (batch, length, heads * dim)))
        return result


class MLP(nn.Module):
    """act(x gate) * (x up) down, or act(x up) down."""

    def __init__(self, config: ModelConfig, linear: MakeLinear) -> None:
        self.config = config
        inner = config.intermediate_size
        if config.gated:
            self.gate_up_proj = linear(config.hidden_size, 2 * inner, config.mlp_bias)
        else:
            self.up_proj = linear(config.hidden_size, inner, config.mlp_bias)
        self.down_proj = linear(inner, config.hidden_size, config.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, length, hidden) -> the same."""
        if self.config.gated:
            gate, up = op.split(self.gate_up_proj(x), 2, axis=-1)
            inner = self._activate(gate) * up
        else:
            inner = self._activate(self.up_proj(x))
        result: Tensor = self.down_proj(inner)
        return result

    def _activate(self, x: Tensor) -> Tensor:
        if self.config.activation == "silu":
            return op.silu(x)
        return op.gelu(x, approximate="tanh" if self.config.activation == "gelu_tanh" else None)


class Layer(nn.Module):
    """Attention and MLP, each added to what went in."""

    def __init__(self, config: ModelConfig, layer: int, linear: MakeLinear) -> None:
        self.config = config
        size = config.hidden_size
        self.self_attn = Attention(config, layer, linear)
        self.mlp = MLP(config, linear)
        self.input_layernorm = _norm(config, size)
        if not config.parallel_block:
            self.post_attention_layernorm = _norm(config, size)
        if config.post_norms:
            self.pre_feedforward_layernorm = _norm(config, size)
            self.post_feedforward_layernorm = _norm(config, size)

    def forward(self, x: Tensor, cache: PagedKVCache, turns: rotary.Table | None) -> Tensor:
        """(batch, length, hidden) -> the same."""
        read = self.input_layernorm(x)
        seen = self.self_attn(read, cache, turns)
        if self.config.parallel_block:
            both: Tensor = x + seen + self.mlp(read)
            return both
        if self.config.post_norms:
            x = x + self.post_attention_layernorm(seen)
            inner = self.mlp(self.pre_feedforward_layernorm(x))
            out: Tensor = x + self.post_feedforward_layernorm(inner)
            return out
        x = x + seen
        result: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return result


class Decoder(nn.Module):
    """The layers between embeddings and logits."""

    def __init__(self, config: ModelConfig, linear: MakeLinear, embedding: nn.Module) -> None:
        self.embed_tokens = embedding
        if config.positions == "learned":
            self.embed_positions = nn.Embedding(config.context_length, config.hidden_size)
        layers: list[nn.Module] = [Layer(config, i, linear) for i in range(config.num_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = _norm(config, config.hidden_size)


class DecoderLM(nn.Module):
    """The whole model. Numbers are float32; weights may be stored in fewer bits.

    `linear` and `embedding` make the modules that hold weights. One that an embedding's method
    `head` reads, transposed, is its own head where the configuration ties the two.
    """

    def __init__(
        self, config: ModelConfig, linear: MakeLinear = plain_linear,
        embedding: Callable[[int, int], nn.Module] | None = None,
    ) -> None:  # fmt: skip
        self.config = config
        table = (embedding or Embedding)(config.vocab_size, config.hidden_size)
        self.model = Decoder(config, linear, table)
        if not config.tied_head:
            self.lm_head = linear(config.hidden_size, config.vocab_size, config.head_bias)

    # --- what engines call ---

    def embed(self, input_ids: Tensor) -> Tensor:
        """(tokens,) int32 -> (tokens, hidden)"""
        rows: Tensor = self.model.embed_tokens(input_ids)
        return rows if self.config.embed_scale == 1.0 else rows * self.config.embed_scale

    def prefill(self, input_embed: Tensor, paged_kv_cache: PagedKVCache) -> Any:
        """(1, length, hidden) -> logits of the last token, (1, 1, vocabulary); and the cache."""
        x = self._layers(input_embed, paged_kv_cache)

        def last(rows: Any) -> Any:
            return te.compute((1, 1, rows.shape[2]), lambda i, _, d: rows[i, rows.shape[1] - 1, d])

        return self._logits(op.tensor_expr_op(last, "last_row", [x])), paged_kv_cache

    def decode(self, input_embed: Tensor, paged_kv_cache: PagedKVCache) -> Any:
        """(1, 1, hidden) -> logits (1, 1, vocabulary); and the cache."""
        return self._logits(self._layers(input_embed, paged_kv_cache)), paged_kv_cache

    def batch_prefill(
        self, input_embeds: Tensor, logit_positions: Tensor, paged_kv_cache: PagedKVCache
    ) -> Any:
        """(1, tokens, hidden) of several sequences -> logits at (n,) rows, (1, n, vocabulary)."""
        x = self._layers(input_embeds, paged_kv_cache)
        return self._logits(op.take(x, logit_positions, axis=1)), paged_kv_cache

    def batch_decode(self, input_embeds: Tensor, paged_kv_cache: PagedKVCache) -> Any:
        """(sequences, 1, hidden) -> logits (sequences, 1, vocabulary); and the cache."""
        return self._logits(self._layers(input_embeds, paged_kv_cache)), paged_kv_cache

    def batch_verify(self, input_embeds: Tensor, paged_kv_cache: PagedKVCache) -> Any:
        """(1, tokens, hidden) -> logits of every token, (1, tokens, vocabulary); and the cache."""
        return self._logits(self._layers(input_embeds, paged_kv_cache)), paged_kv_cache

    def create_paged_kv_cache(
        self, max_batch_size: tir.Var, max_total_seq_len: tir.Var, prefill_chunk_size: tir.Var,
        page_size: tir.Var, support_sliding_window: tir.Var,
    ) -> PagedKVCache:  # fmt: skip
        """A cache for this model's layers; positions turn keys before they enter it."""
        config = self.config
        kinds: Any = [
            "mha_sliding" if i in config.windowed else "mha" for i in range(config.num_layers)
        ]
        dim = config.head_dim
        return TIRPagedKVCache(
            kinds, max_batch_size, max_total_seq_len, prefill_chunk_size, page_size,
            support_sliding_window, rx.ShapeExpr([0, config.num_layers]), config.num_layers,
            config.num_heads, config.num_kv_heads, dim, dim, dim, dim, RopeMode.NONE, 1, 10000, {},
            rx.PrimValue(0), dim, False, "float32",
            Target.current(allow_none=True) or Target("llvm"),
        )  # fmt: skip

    def get_default_spec(self) -> spec.ModuleSpec:
        """The specification of all these methods; weights come as one tuple, after the inputs."""
        return self.spec_of(*_METHODS)

    def spec_of(self, *methods: str) -> spec.ModuleSpec:
        """The specification of some methods, and of the cache."""
        hidden, cache = self.config.hidden_size, spec.Object(object_type=PagedKVCache)
        raw: dict[str, Any] = {}
        for name in methods:
            inputs: dict[str, Any] = dict(_METHODS[name](hidden))
            if name != "embed":
                inputs["paged_kv_cache"] = cache
            raw[name] = {**inputs, "$": {"param_mode": "packed", "effect_mode": "none"}}
        raw["create_paged_kv_cache"] = {
            **dict.fromkeys(CACHE_SIZES, int),
            "$": {"param_mode": "none", "effect_mode": "none"},
        }
        return spec.ModuleSpec.from_raw(raw, self)

    # --- parts ---

    def _layers(self, x: Tensor, cache: PagedKVCache) -> Tensor:
        """(batch, length, hidden) -> the same, normed."""
        config, model = self.config, self.model
        batch, length, hidden = x.shape
        positions = cache.get_query_positions(tir.const(1, "int64") * batch * length)
        turns: dict[bool, rotary.Table] = {}
        if config.positions == "learned":
            rows = op.take(model.embed_positions.weight, positions, axis=0)
            x = x + op.reshape(rows, (batch, length, hidden))
        else:
            turns[False] = rotary.table(config, positions)
            if config.local_rope_theta is not None:
                turns[True] = rotary.table(config, positions, config.local_rope_theta)
        for i, layer in enumerate(model.layers):
            x = layer(x, cache, turns.get(i in config.windowed, turns.get(False)))
        normed: Tensor = model.norm(x)
        return normed

    def _logits(self, x: Tensor) -> Tensor:
        if self.config.tied_head:
            table: Any = self.model.embed_tokens
            logits = table.head(x)
        else:
            logits = self.lm_head(x)
        cap = self.config.logit_softcap
        if cap:
            logits = op.tanh(logits / cap) * cap
        result: Tensor = op.astype(logits, "float32")
        return result


class Embedding(nn.Embedding):
    """A table of rows that can also be the head: the products of each row with `x`."""

    def head(self, x: Tensor) -> Tensor:
        """(batch, length, hidden) -> (batch, length, vocabulary)"""
        return op.matmul(x, op.permute_dims(self.weight), out_dtype="float32")
