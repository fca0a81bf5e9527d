"""The decoder of the example in the form that is trained: a Llama, by operators of Relax.

`tvm.relax.frontend.nn.llm.models` runs the same network with a cache, a token at a time. Here all
positions of a batch are computed at once, each seeing those before it, so that `Gradient` finds the
derivatives of every weight. Weights have the names by which Llamas are published.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

import tvm
from tvm import relax
from tvm.relax import op

VOCABULARY: Final = 640
HIDDEN: Final = 128
INNER: Final = 256          # width between the two products of an MLP
LAYERS: Final = 3
HEADS: Final = 4
HEAD: Final = HIDDEN // HEADS
LENGTH: Final = 160         # tokens of a row in training: three or four questions and answers
CONTEXT: Final = 512        # tokens that the trained model may be run with
EPS: Final = 1e-5
THETA: Final = 10_000.0

CONFIG: Final[dict[str, Any]] = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": INNER,
    "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": HEADS,
    "max_position_embeddings": CONTEXT, "rms_norm_eps": EPS, "rope_theta": THETA,
    "tie_word_embeddings": True, "torch_dtype": "float16", "eos_token_id": 0,
}  # fmt: skip


def parameter_shapes() -> dict[str, tuple[int, ...]]:
    """Each weight's shape, by its published name, in the order of the network's parameters."""
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (VOCABULARY, HIDDEN)}
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        shapes[name + "input_layernorm.weight"] = (HIDDEN,)
        for part in "qkvo":
            shapes[f"{name}self_attn.{part}_proj.weight"] = (HIDDEN, HIDDEN)
        shapes[name + "post_attention_layernorm.weight"] = (HIDDEN,)
        shapes[name + "mlp.gate_proj.weight"] = (INNER, HIDDEN)
        shapes[name + "mlp.up_proj.weight"] = (INNER, HIDDEN)
        shapes[name + "mlp.down_proj.weight"] = (HIDDEN, INNER)
    shapes["model.norm.weight"] = (HIDDEN,)
    return shapes


def backbone(batch: int) -> tvm.IRModule:
    """`backbone(tokens, weights...)`: (batch, LENGTH) int64 -> (batch * LENGTH, VOCABULARY) scores.

    The module has the attributes that `relax.training.SetupTrainer` asks for.
    """
    bb = relax.BlockBuilder()
    tokens = relax.Var("tokens", relax.TensorStructInfo((batch, LENGTH), "int64"))
    weights = {
        name: relax.Var(name.replace(".", "_"), relax.TensorStructInfo(shape, "float32"))
        for name, shape in parameter_shapes().items()
    }
    with bb.function("backbone", [tokens, *weights.values()]):
        with bb.dataflow():
            scores = bb.emit_output(_scores(bb, tokens, weights, batch))
        bb.emit_func_output(scores)
    return bb.get().with_attrs({"param_num": len(weights), "state_num": 0})


def _scores(
    bb: relax.BlockBuilder, tokens: relax.Expr, weights: dict[str, relax.Var], batch: int
) -> relax.Expr:
    table = weights["model.embed_tokens.weight"]

    def linear(x: relax.Expr, name: str) -> relax.Expr:
        return bb.emit(op.matmul(x, op.permute_dims(weights[name + ".weight"])))

    def norm(x: relax.Expr, name: str) -> relax.Expr:
        return bb.emit(op.nn.rms_norm(x, weights[name + ".weight"], axes=[-1], epsilon=EPS))

    x = bb.emit(op.take(table, op.reshape(tokens, (batch * LENGTH,)), axis=0))
    for layer in range(LAYERS):
        name = f"model.layers.{layer}."
        seen = norm(x, name + "input_layernorm")
        q, k, v = (
            _by_head(bb, linear(seen, f"{name}self_attn.{part}_proj"), batch) for part in "qkv"
        )
        mixed = _attention(bb, _turned(bb, q), _turned(bb, k), v, batch)
        x = bb.emit(op.add(x, linear(mixed, name + "self_attn.o_proj")))
        seen = norm(x, name + "post_attention_layernorm")
        gate, up = linear(seen, name + "mlp.gate_proj"), linear(seen, name + "mlp.up_proj")
        inner = bb.emit(op.multiply(op.nn.silu(gate), up))
        x = bb.emit(op.add(x, linear(inner, name + "mlp.down_proj")))
    return op.matmul(norm(x, "model.norm"), op.permute_dims(table))


def _by_head(bb: relax.BlockBuilder, x: relax.Expr, batch: int) -> relax.Expr:
    heads = op.reshape(x, (batch, LENGTH, HEADS, HEAD))
    return bb.emit(op.permute_dims(heads, [0, 2, 1, 3]))


def _turned(bb: relax.BlockBuilder, x: relax.Expr) -> relax.Expr:
    """Rotary positions: pairs of elements turned by an angle for each position (Su et al. 2021)."""
    frequencies = THETA ** -(np.arange(HEAD // 2) / (HEAD // 2))
    angles = np.arange(LENGTH)[:, None] * np.tile(frequencies, 2)
    cosine, sine = (relax.const(f(angles).astype("float32")) for f in (np.cos, np.sin))
    halves = bb.emit(op.split(x, 2, axis=-1))
    crossed = op.concat([op.negative(halves[1]), halves[0]], axis=-1)
    return bb.emit(op.add(op.multiply(x, cosine), op.multiply(crossed, sine)))


def _attention(
    bb: relax.BlockBuilder, q: relax.Expr, k: relax.Expr, v: relax.Expr, batch: int
) -> relax.Expr:
    later = np.triu(np.full((LENGTH, LENGTH), -1e9, "float32"), 1)
    products = op.matmul(q, op.permute_dims(k, [0, 1, 3, 2]))
    scores = op.multiply(products, relax.const(1 / math.sqrt(HEAD), "float32"))
    chances = bb.emit(op.nn.softmax(op.add(scores, relax.const(later))))
    mixed = op.permute_dims(op.matmul(chances, v), [0, 2, 1, 3])
    return bb.emit(op.reshape(mixed, (batch * LENGTH, HIDDEN)))
