"""A small network that scores candidates from any number of rows each, and what trains it.

    rows -> two layers -> sum of a candidate's rows -> two residual layers -> score

Every layer keeps what its last `forward` saw, and `backward` leaves the derivatives in `grads`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]


class Linear:
    """x @ weight + bias."""

    def __init__(self, random: np.random.RandomState, inputs: int, outputs: int) -> None:
        bound = 1 / np.sqrt(inputs)
        self.params = {
            "weight": random.uniform(-bound, bound, (inputs, outputs)).astype(np.float32),
            "bias": random.uniform(-bound, bound, outputs).astype(np.float32),
        }
        self.grads: dict[str, Array] = {}
        self._input = np.zeros((0, inputs), np.float32)

    def forward(self, x: Array) -> Array:
        self._input = x
        return x @ self.params["weight"] + self.params["bias"]

    def backward(self, grad: Array) -> Array:
        self.grads = {"weight": self._input.T @ grad, "bias": grad.sum(axis=0)}
        flow: Array = grad @ self.params["weight"].T
        return flow


class LinearReLU(Linear):
    """max(x @ weight + bias, 0)."""

    def forward(self, x: Array) -> Array:
        out = super().forward(x)
        self._positive = out > 0
        return np.maximum(out, 0)

    def backward(self, grad: Array) -> Array:
        return super().backward(np.where(self._positive, grad, np.float32(0)))


class BatchNorm:
    """Mean zero and variance one in a batch; when not training, by what batches had so far."""

    EPSILON = 1e-5
    MOMENTUM = 0.1

    def __init__(self, size: int) -> None:
        self.params = {"weight": np.ones(size, np.float32), "bias": np.zeros(size, np.float32)}
        self.grads: dict[str, Array] = {}
        self.mean, self.var = np.zeros(size, np.float32), np.ones(size, np.float32)

    def forward(self, x: Array, training: bool) -> Array:
        mean, var = self.mean, self.var
        if training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.mean = (1 - self.MOMENTUM) * self.mean + self.MOMENTUM * mean
            self.var = (1 - self.MOMENTUM) * self.var + self.MOMENTUM * var
        self._scale = 1 / np.sqrt(var + self.EPSILON)
        self._normal = (x - mean) * self._scale
        out: Array = self._normal * self.params["weight"] + self.params["bias"]
        return out

    def backward(self, grad: Array) -> Array:
        normal = self._normal
        self.grads = {"weight": (grad * normal).sum(axis=0), "bias": grad.sum(axis=0)}
        inner = grad * self.params["weight"]
        spread = inner - inner.mean(axis=0) - normal * (inner * normal).mean(axis=0)
        out: Array = spread * self._scale
        return out


class SegmentSumMLP:
    """Scores of candidates: `forward(rows of each candidate, all rows)`."""

    def __init__(
        self,
        input_dim: int = 172,
        hidden_dim: int = 256,
        output_dim: int = 1,
        use_norm: bool = False,
        use_sigmoid: bool = False,
        seed: int = 43,
    ) -> None:
        self.input_dim, self.hidden_dim, self.output_dim = input_dim, hidden_dim, output_dim
        self.use_norm, self.use_sigmoid = use_norm, use_sigmoid
        self.training = True
        random = np.random.RandomState(seed)
        self.encoder = (
            LinearReLU(random, input_dim, hidden_dim), LinearReLU(random, hidden_dim, hidden_dim)
        )  # fmt: skip
        self.norm = BatchNorm(hidden_dim) if use_norm else None
        self.residual = tuple(LinearReLU(random, hidden_dim, hidden_dim) for _ in range(2))
        self.decoder = Linear(random, hidden_dim, output_dim)

    def train(self, mode: bool = True) -> SegmentSumMLP:
        """Norms learn from batches (or no longer)."""
        self.training = mode
        return self

    def eval(self) -> SegmentSumMLP:
        """Norms keep what they have learned."""
        return self.train(False)

    def forward(self, segment_sizes: npt.NDArray[Any], features: Array) -> Array:
        """(n,), (rows, input_dim) -> (n,)"""
        hidden = np.asarray(features, np.float32)
        for layer in self.encoder:
            hidden = layer.forward(hidden)
        self._owner = np.repeat(np.arange(len(segment_sizes)), segment_sizes)
        out = np.zeros((len(segment_sizes), self.hidden_dim), np.float32)
        np.add.at(out, self._owner, hidden)
        if self.norm is not None:
            out = self.norm.forward(out, self.training)
        for layer in self.residual:
            out = layer.forward(out) + out
        out = self.decoder.forward(out)
        if self.use_sigmoid:
            out = 0.5 * (1 + np.tanh(0.5 * out))
        self._output = out
        return out[:, 0] if self.output_dim == 1 else out

    __call__ = forward

    def backward(self, grad: npt.NDArray[Any]) -> None:
        """Leave the derivatives of a loss in all layers, from those by the last scores."""
        flow = np.asarray(grad, np.float32).reshape(self._output.shape)
        if self.use_sigmoid:
            flow = flow * self._output * (1 - self._output)
        flow = self.decoder.backward(flow)
        for layer in reversed(self.residual):
            flow = flow + layer.backward(flow)
        if self.norm is not None:
            flow = self.norm.backward(flow)
        flow = flow[self._owner]
        for layer in reversed(self.encoder):
            flow = layer.backward(flow)

    def layers(self) -> dict[str, Linear | BatchNorm]:
        """The layers that learn, by name."""
        named: dict[str, Linear | BatchNorm] = {}
        named.update({f"encoder{k}": x for k, x in enumerate(self.encoder)})
        named.update({f"layer{k}": x for k, x in enumerate(self.residual)})
        if self.norm is not None:
            named["norm"] = self.norm
        return {**named, "decoder": self.decoder}

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that was learned, by name."""
        found = {f"{n}.{p}": v for n, x in self.layers().items() for p, v in x.params.items()}
        if self.norm is not None:
            found.update({"norm.mean": self.norm.mean, "norm.var": self.norm.var})
        return found

    def set_arrays(self, stored: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take up what `arrays` gave; a ValueError where shapes differ."""
        for name, known in self.arrays().items():
            if name not in stored or stored[name].shape != known.shape:
                found = stored[name].shape if name in stored else "none"
                raise ValueError(f"the network has {name} of shape {known.shape}; found {found}")
        for name, layer in self.layers().items():
            layer.params = {p: stored[f"{name}.{p}"].copy() for p in layer.params}
        if self.norm is not None:
            self.norm.mean, self.norm.var = stored["norm.mean"], stored["norm.var"]


class Adam:
    """Kingma and Ba, "Adam" (ICLR 2015); `weight_decay` pulls all parameters towards zero."""

    def __init__(
        self, model: SegmentSumMLP, lr: float, weight_decay: float = 0.0,
        betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
    ) -> None:  # fmt: skip
        self.model, self.lr, self.weight_decay = model, lr, weight_decay
        self.betas, self.eps = betas, eps
        self._steps = 0
        self._moments: dict[tuple[str, str], tuple[Any, Any]] = {}

    def step(self, grad_clip_norm: float = np.inf) -> None:
        """Move the parameters along the derivatives, which are together no longer than given."""
        self._steps += 1
        scale = min(1.0, grad_clip_norm / (_norm(self.model) + 1e-6))
        for name, layer in self.model.layers().items():
            for part, value in layer.params.items():
                grad = layer.grads[part] * scale + self.weight_decay * value
                layer.params[part] = value - self._move((name, part), grad)

    def _move(self, key: tuple[str, str], grad: Any) -> Array:
        first, second = self._moments.get(key, (0.0, 0.0))
        first = self.betas[0] * first + (1 - self.betas[0]) * grad
        second = self.betas[1] * second + (1 - self.betas[1]) * grad * grad
        self._moments[key] = first, second
        mean = first / (1 - self.betas[0] ** self._steps)
        spread = np.sqrt(second / (1 - self.betas[1] ** self._steps))
        return np.asarray(self.lr * mean / (spread + self.eps), np.float32)


def _norm(model: SegmentSumMLP) -> float:
    grads: Sequence[Any] = [g for layer in model.layers().values() for g in layer.grads.values()]
    return float(np.sqrt(sum(float((g * g).sum()) for g in grads)))


class StepLR:
    """After each `step_size` epochs an optimizer learns `gamma` times as fast."""

    def __init__(self, optimizer: Adam, step_size: int, gamma: float) -> None:
        self.optimizer, self.step_size, self.gamma = optimizer, step_size, gamma
        self.last_epoch = 0

    def step(self) -> None:
        """An epoch is over."""
        self.last_epoch += 1
        if self.last_epoch % self.step_size == 0:
            self.optimizer.lr *= self.gamma
