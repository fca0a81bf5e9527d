"""Layers of a small convolutional network in numpy, each with its gradient worked out by hand.

Activations are (channels, images, rows, columns): with the channel in front, a convolution is
one matrix product over all pixels of all images, and its output needs no transpose.
`forward` keeps what `backward` needs; `backward` takes the gradient of the loss by the output,
leaves the gradients of the parameters in `grads`, and returns the gradient by the input.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]


class Layer:
    """A function with parameters; the two dicts have the same keys."""

    def __init__(self) -> None:
        self.params: dict[str, Array] = {}
        self.grads: dict[str, Array] = {}

    def forward(self, x: Array, training: bool) -> Array:
        raise AssertionError("each layer says what it computes")

    def backward(self, grad: Array) -> Array:
        raise AssertionError("each layer says what its gradient is")


class Conv3x3(Layer):
    """A 3x3 window, stride 1, one pixel of zeros around.   (c, n, h, w) -> (k, n, h, w)"""

    def __init__(self, channels_in: int, channels_out: int, rng: np.random.Generator) -> None:
        super().__init__()
        scale = np.sqrt(2.0 / (9 * channels_in))          # He et al. 2015, for a relu behind it
        weight = rng.normal(0.0, scale, (channels_out, channels_in, 3, 3))
        self.params["weight"] = weight.astype(np.float32)

    def forward(self, x: Array, training: bool) -> Array:
        c, n, h, w = x.shape
        weight = self.params["weight"]
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        columns = np.empty((c, 3, 3, n, h, w), x.dtype)
        for i in range(3):
            for j in range(3):
                columns[:, i, j] = padded[:, :, i : i + h, j : j + w]
        self._columns = columns.reshape(c * 9, n * h * w)
        self._shape = x.shape
        return (weight.reshape(len(weight), -1) @ self._columns).reshape(-1, n, h, w)

    def backward(self, grad: Array) -> Array:
        c, n, h, w = self._shape
        weight = self.params["weight"]
        flat = grad.reshape(len(weight), -1)
        self.grads["weight"] = (flat @ self._columns.T).reshape(weight.shape)
        columns = (weight.reshape(len(weight), -1).T @ flat).reshape(c, 3, 3, n, h, w)
        padded = np.zeros((c, n, h + 2, w + 2), grad.dtype)
        for i in range(3):
            for j in range(3):
                padded[:, :, i : i + h, j : j + w] += columns[:, i, j]
        return padded[:, :, 1:-1, 1:-1]


class BatchNorm(Layer):
    """Each channel to mean 0 and variance 1, then scaled and shifted.   (c, n, h, w) -> same

    In training the moments are those of the batch and a running average is kept for later use.
    """

    EPSILON = 1e-5
    MOMENTUM = 0.9

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.params["scale"] = np.ones(channels, np.float32)
        self.params["shift"] = np.zeros(channels, np.float32)
        self.running_mean = np.zeros(channels, np.float32)
        self.running_var = np.ones(channels, np.float32)

    def forward(self, x: Array, training: bool) -> Array:
        if training:
            mean, var = x.mean(axis=(1, 2, 3)), x.var(axis=(1, 2, 3))
            self.running_mean += (1 - self.MOMENTUM) * (mean - self.running_mean)
            self.running_var += (1 - self.MOMENTUM) * (var - self.running_var)
        else:
            mean, var = self.running_mean, self.running_var
        self._inverse_std = _by_channel(1.0 / np.sqrt(var + self.EPSILON))
        self._normal = (x - _by_channel(mean)) * self._inverse_std
        scale, shift = self.params["scale"], self.params["shift"]
        return self._normal * _by_channel(scale) + _by_channel(shift)

    def backward(self, grad: Array) -> Array:
        axes = (1, 2, 3)
        self.grads["scale"] = (grad * self._normal).sum(axis=axes)
        self.grads["shift"] = grad.sum(axis=axes)
        # mean and variance depend on x too: their share is the part of `grad` along 1 and along
        # the normalised x, which is taken out (Ioffe and Szegedy 2015, section 3).
        along_one = grad.mean(axis=axes, keepdims=True)
        along_normal = (grad * self._normal).mean(axis=axes, keepdims=True)
        rest = grad - along_one - self._normal * along_normal
        return _by_channel(self.params["scale"]) * self._inverse_std * rest


class Relu(Layer):
    """max(x, 0)"""

    def forward(self, x: Array, training: bool) -> Array:
        self._positive = x > 0
        return np.where(self._positive, x, x.dtype.type(0))

    def backward(self, grad: Array) -> Array:
        return np.where(self._positive, grad, grad.dtype.type(0))


class MaxPool2x2(Layer):
    """The largest of each 2x2 square.   (c, n, h, w) -> (c, n, h/2, w/2)"""

    def forward(self, x: Array, training: bool) -> Array:
        squares = _squares(x)
        self._winner = squares.argmax(axis=-1)[..., None]
        return np.take_along_axis(squares, self._winner, axis=-1)[..., 0]

    def backward(self, grad: Array) -> Array:
        c, n, h, w = grad.shape
        squares = np.zeros((c, n, h, w, 4), grad.dtype)
        np.put_along_axis(squares, self._winner, grad[..., None], axis=-1)
        by_rows = squares.reshape(c, n, h, w, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        return by_rows.reshape(c, n, 2 * h, 2 * w)


class GlobalAveragePool(Layer):
    """The mean of each channel of each image.   (c, n, h, w) -> (n, c)"""

    def forward(self, x: Array, training: bool) -> Array:
        self._shape = x.shape
        return x.mean(axis=(2, 3)).T

    def backward(self, grad: Array) -> Array:
        h, w = self._shape[2:]
        spread = grad.T[:, :, None, None] / grad.dtype.type(h * w)
        return np.broadcast_to(spread, self._shape)


class Dense(Layer):
    """y = x wT + b.   (n, c) -> (n, k)"""

    def __init__(self, size_in: int, size_out: int, rng: np.random.Generator) -> None:
        super().__init__()
        scale = np.sqrt(1.0 / size_in)
        self.params["weight"] = rng.normal(0.0, scale, (size_out, size_in)).astype(np.float32)
        self.params["bias"] = np.zeros(size_out, np.float32)

    def forward(self, x: Array, training: bool) -> Array:
        self._x = x
        return x @ self.params["weight"].T + self.params["bias"]

    def backward(self, grad: Array) -> Array:
        self.grads["weight"] = grad.T @ self._x
        self.grads["bias"] = grad.sum(axis=0)
        return grad @ self.params["weight"]


class Residual(Layer):
    """x + f(x), for the layers `body` run one after the other as f."""

    def __init__(self, body: dict[str, Layer]) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Array, training: bool) -> Array:
        y = x
        for layer in self.body.values():
            y = layer.forward(y, training)
        return x + y

    def backward(self, grad: Array) -> Array:
        through = grad
        for layer in reversed(self.body.values()):
            through = layer.backward(through)
        return grad + through


def softmax(x: Array) -> Array:
    """Probabilities from scores.   (n, k) -> (n, k)"""
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def cross_entropy(scores: Array, labels: NDArray[np.integer]) -> tuple[float, Array]:
    """The mean of -log p(label) under softmax, and its gradient by the scores."""
    p = softmax(scores)
    rows = np.arange(len(labels))
    loss = -np.log(p[rows, labels]).mean()
    grad = p.copy()
    grad[rows, labels] -= 1
    return float(loss), grad / scores.dtype.type(len(labels))


def _by_channel(values: Array) -> Array:
    return values[:, None, None, None]


def _squares(x: Array) -> Array:
    """(c, n, 2h, 2w) -> (c, n, h, w, 4), the four pixels of each square in the last axis."""
    c, n, h, w = x.shape
    return x.reshape(c, n, h // 2, 2, w // 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(
        c, n, h // 2, w // 2, 4
    )
