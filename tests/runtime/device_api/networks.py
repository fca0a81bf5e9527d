"""Networks that run on a device and on the CPU, and are compared.

A residual network, a transformer's layer, a recurrent layer and a decoder with a paged cache, each
in the form of its family and as small as keeps that form; the sizes are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tvm
from tests.runtime.device_api.programs import floats
from tvm import relax
from tvm.relax import op as o
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec
from tvm.relax.frontend.nn.llm.kv_cache import PagedKVCache, RopeMode, TIRPagedKVCache
from tvm.runtime import ShapeTuple
from tvm.target import Target

Array = np.ndarray[Any, Any]
Emit = Callable[[relax.Expr], relax.Var]


def graph(make: Callable[[Emit, relax.Var], relax.Expr], x: Array) -> tvm.IRModule:
    """A module whose `main` is what `make` emits for an input like x."""
    bb = relax.BlockBuilder()
    given = relax.Var("x", relax.TensorStructInfo(x.shape, str(x.dtype)))
    with bb.function("main", [given]):
        with bb.dataflow():
            out = bb.emit_output(bb.emit(make(bb.emit, given)))
        bb.emit_func_output(out)
    return bb.get()


class Weights:
    """Random constants, each with variance 1 / fan-in."""

    def __init__(self, dtype: str = "float32") -> None:
        self._random, self._dtype = np.random.default_rng(7), dtype

    def __call__(self, *shape: int, fan_in: int = 1) -> relax.Constant:
        values = self._random.standard_normal(shape) / fan_in**0.5
        return relax.const(values.astype(self._dtype), self._dtype)


def residual(
    size: int = 64, widths: tuple[int, ...] = (64, 128, 256, 512), depth: int = 2,
    dtype: str = "float32",
) -> tuple[tvm.IRModule, Array]:  # fmt: skip
    """A residual network of blocks of two convolutions (ResNet-18 with the defaults)."""
    weight = Weights(dtype)

    def conv(emit: Emit, x: Any, out: int, kernel: int, stride: int = 1) -> Any:
        channels = int(x.struct_info.shape[1])
        w = weight(out, channels, kernel, kernel, fan_in=channels * kernel * kernel)
        y = emit(o.nn.conv2d(x, w, strides=stride, padding=kernel // 2))
        return emit(o.add(y, weight(1, out, 1, 1, fan_in=16)))

    def make(emit: Emit, x: relax.Var) -> relax.Expr:
        y: Any = emit(o.nn.relu(conv(emit, x, widths[0], 7, 2)))
        y = emit(o.nn.max_pool2d(y, (3, 3), strides=(2, 2), padding=(1, 1)))
        for stage, width in enumerate(widths):
            for block in range(depth):
                stride = 2 if stage and not block else 1
                z = emit(o.nn.relu(conv(emit, y, width, 3, stride)))
                z = conv(emit, z, width, 3)
                if stride > 1:
                    y = conv(emit, y, width, 1, stride)
                y = emit(o.nn.relu(emit(o.add(y, z))))
        y = emit(o.mean(y, [2, 3]))
        return o.matmul(y, weight(widths[-1], 10, fan_in=widths[-1]))

    x = floats(1, 3, size, size).astype(dtype)
    return graph(make, x), x


def transformer(
    length: int = 16, heads: int = 4, dim: int = 16, batch: int = 1, dtype: str = "float32"
) -> tuple[tvm.IRModule, Array]:
    """One layer of BERT: attention, and two products with gelu between, each with a norm."""
    weight, width = Weights(dtype), heads * dim

    def linear(emit: Emit, x: Any, inputs: int, outputs: int) -> Any:
        y = emit(o.matmul(x, weight(inputs, outputs, fan_in=inputs)))
        return emit(o.add(y, weight(outputs, fan_in=16)))

    def norm(emit: Emit, x: Any) -> Any:
        return emit(o.nn.layer_norm(x, weight(width), weight(width), axes=[-1]))

    def make(emit: Emit, x: relax.Var) -> relax.Expr:
        q, k, v = (
            emit(o.permute_dims(
                emit(o.reshape(linear(emit, x, width, width), (batch, length, heads, dim))),
                [0, 2, 1, 3],
            ))
            for _ in range(3)
        )  # fmt: skip
        scores = emit(o.matmul(q, emit(o.permute_dims(k, [0, 1, 3, 2]))))
        scores = emit(o.multiply(scores, relax.const(dim**-0.5, dtype)))
        mixed = emit(o.matmul(emit(o.nn.softmax(scores, -1)), v))
        joined = emit(o.reshape(emit(o.permute_dims(mixed, [0, 2, 1, 3])), (batch, length, width)))
        y = norm(emit, emit(o.add(x, linear(emit, joined, width, width))))
        z = emit(o.nn.gelu(linear(emit, y, width, 4 * width)))
        return norm(emit, emit(o.add(y, linear(emit, z, 4 * width, width))))

    x = floats(batch, length, width).astype(dtype)
    return graph(make, x), x


def recurrent(steps: int = 5, batch: int = 2, width: int = 24) -> tuple[tvm.IRModule, Array]:
    """An LSTM over a sequence (steps, batch, width); all hidden states."""
    weight = Weights()
    own, across = weight(width, 4 * width, fan_in=width), weight(width, 4 * width, fan_in=width)

    def make(emit: Emit, x: relax.Var) -> relax.Expr:
        gates_of_inputs = emit(o.matmul(x, own))
        state: Any = emit(o.zeros((batch, width), "float32"))
        cell, out = state, []
        for step in range(steps):
            part = emit(o.strided_slice(gates_of_inputs, [0], [step], [step + 1]))
            gates = emit(o.add(emit(o.squeeze(part, [0])), emit(o.matmul(state, across))))
            parts = emit(o.split(gates, 4, axis=1))
            i, f, g, last = (emit(relax.TupleGetItem(parts, k)) for k in range(4))
            kept = emit(o.multiply(emit(o.sigmoid(f)), cell))
            cell = emit(o.add(kept, emit(o.multiply(emit(o.sigmoid(i)), emit(o.tanh(g))))))
            state = emit(o.multiply(emit(o.sigmoid(last)), emit(o.tanh(cell))))
            out.append(state)
        return o.stack(out, 0)

    x = floats(steps, batch, width)
    return graph(make, x), x


GRAPHS = {"residual": residual, "transformer": transformer, "recurrent": recurrent}


# --- a decoder with a cache ---

_SIZES = ("max_batch_size", "max_total", "chunk", "page", "sliding")


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int, kv: int, number: int) -> None:
        self.heads, self.kv, self.dim, self.number = heads, kv, width // heads, number
        self.before = nn.RMSNorm(width, -1, bias=False)
        self.qkv = nn.Linear(width, (heads + 2 * kv) * self.dim, bias=False)
        self.out = nn.Linear(heads * self.dim, width, bias=False)
        self.after = nn.RMSNorm(width, -1, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.gate = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(2 * 2 * width, width, bias=False)

    def forward(self, x: nn.Tensor, cache: PagedKVCache) -> nn.Tensor:
        b, s, _ = x.shape
        qkv = self.qkv(self.before(x)).reshape(b, s, self.heads + 2 * self.kv, self.dim)
        mixed = cache.attention_with_fused_qkv(self.number, qkv, self.heads, self.dim**-0.5)
        x = x + self.out(mixed.reshape(b, s, self.heads * self.dim))
        y = self.after(x)
        return x + self.down(nn.op.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Layers as Llama's: rotary positions, groups of heads, RMS norms, a gated product."""

    def __init__(
        self, target: Target, width: int = 64, heads: int = 4, kv: int = 2, layers: int = 2,
        words: int = 50, dtype: str = "float32",
    ) -> None:  # fmt: skip
        self.target, self.heads, self.kv, self.width = target, heads, kv, width
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList([_Layer(width, heads, kv, i) for i in range(layers)])
        self.norm = nn.RMSNorm(width, -1, bias=False)
        self.head = nn.Linear(width, words, bias=False)
        self.cache_dtype = dtype
        self.to(dtype)

    def create(self, max_batch_size: Any, max_total: Any, chunk: Any, page: Any, sliding: Any
               ) -> PagedKVCache:  # fmt: skip
        dim = self.width // self.heads
        return TIRPagedKVCache(
            "mha", max_batch_size, max_total, chunk, page, sliding,
            relax.ShapeExpr([0, len(self.layers)]), len(self.layers), self.heads, self.kv, dim,
            dim, dim, dim, RopeMode.NORMAL, 1, 10000, {}, relax.PrimValue(0), dim, False,
            self.cache_dtype, self.target,
        )  # fmt: skip

    def step(self, tokens: nn.Tensor, cache: PagedKVCache) -> Any:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, cache)
        return self.head(self.norm(x)), cache


def _state(name: str, *args: Any) -> Any:
    return tvm.get_global_func(f"vm.builtin.kv_state_{name}")(*args)


class Decoding:
    """A decoder on a device, and a cache of its own."""

    def __init__(self, device: Any, dtype: str = "float32", **sizes: Any) -> None:
        target = Target(device.type, host="llvm") if device.type != "cpu" else Target("llvm")
        mod, params = Decoder(target, dtype=dtype, **sizes).export_tvm({
            "create": dict.fromkeys(_SIZES, int),
            "step": {"tokens": spec.Tensor((1, "n"), "int32"),
                     "cache": spec.Object(object_type=PagedKVCache)},
        })  # fmt: skip
        self.device = device
        self.vm = relax.VirtualMachine(tvm.compile(mod, target), device)
        weight = Weights(dtype)
        self.given = [
            tvm.runtime.tensor(
                weight(*map(int, p.shape), fan_in=int(p.shape[-1])).data.numpy(), device
            )
            for _, p in params
        ]
        self.cache = self.vm["create"](*[ShapeTuple([n]) for n in (4, 4096, 2048, 16, 0)],
                                       *self.given)  # fmt: skip

    def add(self, sequence: int) -> None:
        """A new sequence."""
        _state("add_sequence", self.cache, sequence)

    def step(self, sequence: int, tokens: list[int]) -> Any:
        """The logits of new tokens of a sequence."""
        _state("begin_forward", self.cache, ShapeTuple([sequence]), ShapeTuple([len(tokens)]))
        row = tvm.runtime.tensor(np.array([tokens], "int32"), self.device)
        logits = self.vm["step"](row, self.cache, *self.given)[0]
        _state("end_forward", self.cache)
        return logits


def decoded(device: Any, lengths: tuple[int, ...] = (19, 1, 1, 3), **sizes: Any) -> Array:
    """The logits of a prompt and of steps after it, one after the other, of two sequences."""
    decoding = Decoding(device, **sizes)
    tokens = np.random.default_rng(3).integers(0, sizes.get("words", 50), (2, sum(lengths)))
    found = []
    for sequence in range(2):
        decoding.add(sequence)
    at = 0
    for length in lengths:
        for sequence in range(2):
            part = tokens[sequence, at : at + length].tolist()
            found.append(decoding.step(sequence, part).numpy()[0])
        at += length
    return np.concatenate(found)
