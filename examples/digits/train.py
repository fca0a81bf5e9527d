"""Train the digits model and write `digits.onnx` and `test_images.npz` beside this file.

    pip install -e ".[train]" && python examples/digits/train.py

Takes about a minute. The results are in the repository: this script is only needed to make them
anew. Data: 1,797 handwritten digits of 8x8 pixels (Alpaydin and Kaynak 1998, UCI Machine Learning
Repository, CC BY 4.0), as scikit-learn ships them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parent))

from layers import (
    Array,
    BatchNorm,
    Conv3x3,
    Dense,
    GlobalAveragePool,
    Layer,
    MaxPool2x2,
    Relu,
    Residual,
    cross_entropy,
    softmax,
)

HERE = Path(__file__).parent
SEED = 2024
EPOCHS = 60
BATCH = 48
PEAK_RATE = 4e-3
TEST_IMAGES = 360
BLACKEST = 16               # the data's grey levels are 0 to 16
OPSET = 17


class Split(NamedTuple):
    """Images as (1, n, 8, 8) in [0, 1], and their labels."""

    images: Array
    labels: NDArray[np.integer]


class Digits(Layer):
    """The network, as named stages; the names become the node names of the exported graph.

    stem 1 -> 16 channels, a residual block at 8x8, pooled to 4x4, widened to 32 channels,
    a residual block, the mean of each channel, ten scores.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        super().__init__()
        self.stages: dict[str, Layer] = {
            "stem/conv": Conv3x3(1, 16, rng),
            "stem/bn": BatchNorm(16),
            "stem/relu": Relu(),
            "block1/add": _residual("block1", 16, rng),
            "block1/relu": Relu(),
            "pool": MaxPool2x2(),
            "widen/conv": Conv3x3(16, 32, rng),
            "widen/bn": BatchNorm(32),
            "widen/relu": Relu(),
            "block2/add": _residual("block2", 32, rng),
            "block2/relu": Relu(),
            "head/average": GlobalAveragePool(),
            "head/dense": Dense(32, 10, rng),
        }

    def forward(self, x: Array, training: bool) -> Array:
        for layer in self.stages.values():
            x = layer.forward(x, training)
        return x

    def backward(self, grad: Array) -> Array:
        for layer in reversed(self.stages.values()):
            grad = layer.backward(grad)
        return grad

    def leaves(self) -> Iterator[Layer]:
        for layer in self.stages.values():
            yield from layer.body.values() if isinstance(layer, Residual) else (layer,)


class Adam:
    """Adam (Kingma and Ba 2015) with decoupled weight decay on the weights proper."""

    BETA1, BETA2, EPSILON, DECAY = 0.9, 0.999, 1e-8, 2e-2

    def __init__(self, layers: list[Layer]) -> None:
        self._layers = layers
        self._moments = [
            {key: (np.zeros_like(p), np.zeros_like(p)) for key, p in layer.params.items()}
            for layer in layers
        ]
        self._steps = 0

    def step(self, rate: float) -> None:
        self._steps += 1
        unbias1 = 1 - self.BETA1**self._steps
        unbias2 = 1 - self.BETA2**self._steps
        for layer, moments in zip(self._layers, self._moments, strict=True):
            for key, param in layer.params.items():
                grad = layer.grads[key]
                first, second = moments[key]
                first += (1 - self.BETA1) * (grad - first)
                second += (1 - self.BETA2) * (grad * grad - second)
                update = (first / unbias1) / (np.sqrt(second / unbias2) + self.EPSILON)
                if key == "weight":
                    update += self.DECAY * param
                param -= (rate * update).astype(param.dtype)


def load_splits(rng: np.random.Generator) -> tuple[Split, Split]:
    """Training and test images, parted by a shuffle with the fixed seed."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = rng.permutation(len(bunch.target))
    images = (bunch.images[order] / BLACKEST).astype(np.float32)[None]
    labels = bunch.target[order].astype(np.int64)
    return (
        Split(images[:, TEST_IMAGES:], labels[TEST_IMAGES:]),
        Split(images[:, :TEST_IMAGES], labels[:TEST_IMAGES]),
    )


def train(model: Digits, data: Split, rng: np.random.Generator) -> None:
    """Adam over shuffled batches; the rate rises for a tenth of the way, then falls as a cosine."""
    optimizer = Adam(list(model.leaves()))
    batches = len(data.labels) // BATCH
    total, done = EPOCHS * batches, 0
    for epoch in range(EPOCHS):
        order = rng.permutation(len(data.labels))
        losses = []
        for b in range(batches):
            chosen = order[b * BATCH : (b + 1) * BATCH]
            images = _jitter(data.images[:, chosen], rng)
            loss, grad = cross_entropy(model.forward(images, True), data.labels[chosen])
            model.backward(grad)
            progress = done / total
            rise = min(1.0, progress / 0.1)
            optimizer.step(PEAK_RATE * rise * 0.5 * (1 + np.cos(np.pi * progress)))
            losses.append(loss)
            done += 1
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:3d}: loss {np.mean(losses):.4f}", flush=True)


def probabilities(model: Digits, images: Array) -> Array:
    return softmax(model.forward(images, False))


def export(model: Digits) -> onnx.ModelProto:
    """The network as an ONNX graph; batch normalisation stays as nodes of its own."""
    graph = _Graph()
    value = "x"
    for name, layer in model.stages.items():
        value = graph.add(name, layer, value)
    graph.node("Softmax", "head/softmax", [value], "probabilities", axis=1)
    proto = helper.make_graph(
        graph.nodes,
        "digits",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 10])],
        graph.weights,
    )
    opset = helper.make_opsetid("", OPSET)
    exported = helper.make_model(proto, opset_imports=[opset], producer_name="examples/digits")
    exported.ir_version = 8                 # of the time of opset 17: old readers take it too
    onnx.checker.check_model(exported, full_check=True)
    return exported


class _Graph:
    """Nodes and weights as they are added; each node's output is named for the node."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[TensorProto] = []

    def add(self, name: str, layer: Layer, x: str) -> str:
        """Append what computes `layer` of value `x`, and name the result."""
        if isinstance(layer, Conv3x3):
            weight = self.weight(f"{name}.weight", layer.params["weight"])
            return self.node("Conv", name, [x, weight], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        if isinstance(layer, BatchNorm):
            moments = {"mean": layer.running_mean, "var": layer.running_var}
            inputs = [self.weight(f"{name}.{k}", v) for k, v in (layer.params | moments).items()]
            return self.node("BatchNormalization", name, [x, *inputs], epsilon=layer.EPSILON)
        if isinstance(layer, Relu):
            return self.node("Relu", name, [x])
        if isinstance(layer, MaxPool2x2):
            return self.node("MaxPool", name, [x], kernel_shape=[2, 2], strides=[2, 2])
        if isinstance(layer, GlobalAveragePool):
            return self.node("Flatten", "head/flatten", [self.node("GlobalAveragePool", name, [x])])
        if isinstance(layer, Dense):
            inputs = [self.weight(f"{name}.{k}", v) for k, v in layer.params.items()]
            return self.node("Gemm", name, [x, *inputs], transB=1)
        assert isinstance(layer, Residual), f"{name}: no rule for {type(layer).__name__}"
        y = x
        for part, inner in layer.body.items():
            y = self.add(part, inner, y)
        return self.node("Add", name, [x, y])

    def node(self, op: str, name: str, inputs: list[str], out: str = "", **attrs: object) -> str:
        out = out or f"{name}.out"
        self.nodes.append(helper.make_node(op, inputs, [out], name=name, **attrs))
        return out

    def weight(self, name: str, value: Array) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


def _residual(name: str, channels: int, rng: np.random.Generator) -> Residual:
    return Residual(
        {
            f"{name}/conv1": Conv3x3(channels, channels, rng),
            f"{name}/bn1": BatchNorm(channels),
            f"{name}/relu1": Relu(),
            f"{name}/conv2": Conv3x3(channels, channels, rng),
            f"{name}/bn2": BatchNorm(channels),
        }
    )


def _jitter(images: Array, rng: np.random.Generator) -> Array:
    """Each image moved by up to one pixel each way: digits stand anywhere in their square."""
    moved = np.empty_like(images)
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)))
    for n, (i, j) in enumerate(rng.integers(0, 3, (images.shape[1], 2))):
        moved[:, n] = padded[:, n, i : i + 8, j : j + 8]
    return moved


def main() -> None:
    rng = np.random.default_rng(SEED)
    training, test = load_splits(rng)
    model = Digits(rng)
    train(model, training, rng)

    predicted = probabilities(model, test.images).argmax(axis=1)
    print(f"test accuracy {np.mean(predicted == test.labels):.4f} on {len(predicted)} images")

    path = HERE / "digits.onnx"
    onnx.save(export(model), path)
    grey = np.rint(test.images[0] * BLACKEST).astype(np.uint8)
    np.savez_compressed(
        HERE / "test_images.npz", images=grey, labels=test.labels.astype(np.uint8)
    )
    print(f"wrote {path.name} ({path.stat().st_size / 1000:.0f} kB) and test_images.npz")


if __name__ == "__main__":
    main()
