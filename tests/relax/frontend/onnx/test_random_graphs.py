"""Random graphs with a symbol for every extent, each run at ten random sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model

pytestmark = pytest.mark.cpu
GRAPHS, SIZES, NODES = 120, 10, 7
UNARY = ("Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Floor")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")


class Grower:
    """Grows a graph of tensors of four dimensions (n, c, h, w), all of them symbols."""

    def __init__(self, number: int) -> None:
        self.rng = np.random.default_rng(number)
        self.nodes: list[Any] = []
        self.weights: dict[str, Array] = {}
        # values by name, with the key of what is known of their shape
        self.values = {"x": "x"}

    def pick(self, names: Any) -> Any:
        choices = list(names)
        return choices[int(self.rng.integers(len(choices)))]

    def node(self, op: str, *inputs: str, outputs: int = 1, **attrs: Any) -> str:
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, inputs, names, **attrs))
        return names[0]

    def weight(self, value: Any) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def grow(self) -> None:
        steps: list[Callable[[str], tuple[str, str]]] = [
            self.unary, self.binary, self.with_row, self.pool, self.slice, self.pad, self.concat,
            self.transpose, self.through_flat, self.reduced, self.resized, self.softmax,
            self.tiled, self.halved, self.expanded,
        ]  # fmt: skip
        for _ in range(NODES):
            source = self.pick(self.values)
            name, key = self.pick(steps)(source)
            self.values[name] = key

    # each gives a value and a key: values of one key have one shape

    def unary(self, x: str) -> tuple[str, str]:
        return self.node(self.pick(UNARY), x), self.values[x]

    def binary(self, x: str) -> tuple[str, str]:
        same = [v for v, key in self.values.items() if key == self.values[x]]
        return self.node(self.pick(BINARY), x, self.pick(same)), self.values[x]

    def with_row(self, x: str) -> tuple[str, str]:
        """With the mean along some axes, broadcast again."""
        axes = sorted(set(self.rng.integers(0, 4, 2).tolist()))
        mean = self.node("ReduceMean", x, self.weight(np.array(axes, np.int64)))
        return self.node(self.pick(BINARY), mean, x), self.values[x]

    def pool(self, x: str) -> tuple[str, str]:
        kernel, stride = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 3))
        way = self.pick(("NOTSET", "SAME_UPPER", "SAME_LOWER"))
        stride = stride if way == "NOTSET" else min(stride, kernel)
        pads = {"pads": [kernel // 2] * 4} if way == "NOTSET" else {"auto_pad": way}
        name = self.node(self.pick(("MaxPool", "AveragePool")), x, kernel_shape=[kernel] * 2,
                         strides=[stride] * 2, **pads)  # fmt: skip
        return name, f"{self.values[x]} pool {kernel} {stride} {way}"

    def slice(self, x: str) -> tuple[str, str]:
        start, step = 0, int(self.rng.integers(1, 4))
        axis = int(self.rng.integers(0, 4))
        bounds = [self.weight(np.array([v], np.int64)) for v in (start, 2**31 - 1, axis, step)]
        return self.node("Slice", x, *bounds), f"{self.values[x]} slice {start} {step} {axis}"

    def pad(self, x: str) -> tuple[str, str]:
        """To the next multiple of a number."""
        unit = int(self.rng.integers(2, 5))
        many = self.weight(np.full(4, unit, np.int64))
        rest = self.node("Mod", self.node("Shape", x), many)
        after = self.node("Mod", self.node("Sub", many, rest), many)
        pads = self.node("Concat", self.weight(np.zeros(4, np.int64)), after, axis=0)
        name = self.node("Pad", x, pads, mode=self.pick(("constant", "edge")))
        return name, f"{self.values[x]} pad {unit}"

    def concat(self, x: str) -> tuple[str, str]:
        axis = int(self.rng.integers(0, 4))
        same = [v for v, key in self.values.items() if key == self.values[x]]
        return self.node("Concat", x, self.pick(same), axis=axis), f"{self.values[x]} twice {axis}"

    def transpose(self, x: str) -> tuple[str, str]:
        perm = self.rng.permutation(4).tolist()
        return self.node("Transpose", x, perm=perm), f"{self.values[x]} perm {perm}"

    def through_flat(self, x: str) -> tuple[str, str]:
        shape = self.node("Shape", x)
        flat = self.node("Flatten", x, axis=1)
        return self.node("Reshape", self.node("Exp", self.node("Neg", self.node("Abs", flat))),
                         shape), self.values[x]  # fmt: skip

    def reduced(self, x: str) -> tuple[str, str]:
        axis = int(self.rng.integers(0, 4))
        op = self.pick(("ReduceMax", "ReduceMean", "ReduceSum"))
        name = self.node(op, x, self.weight(np.array([axis], np.int64)))
        return name, f"{self.values[x]} reduced {axis}"

    def resized(self, x: str) -> tuple[str, str]:
        scale = float(self.pick((2.0, 1.5)))
        scales = self.weight(np.array([1, 1, scale, scale], np.float32))
        name = self.node(
            "Resize", x, "", scales, mode=self.pick(("nearest", "linear")),
            coordinate_transformation_mode="asymmetric", nearest_mode="floor",
        )  # fmt: skip
        return name, f"{self.values[x]} scale {scale}"

    def softmax(self, x: str) -> tuple[str, str]:
        return self.node("Softmax", x, axis=int(self.rng.integers(0, 4))), self.values[x]

    def tiled(self, x: str) -> tuple[str, str]:
        """As often beside itself as another axis is long."""
        first = self.node("Shape", x, start=0, end=1)
        ones = self.weight(np.ones(3, np.int64))
        times = self.node("Concat", ones, first, axis=0)
        return self.node("Tile", x, times), f"{self.values[x]} tiled"

    def halved(self, x: str) -> tuple[str, str]:
        """The first half (rounded up) along an axis, by arithmetic in floats."""
        axis = int(self.rng.integers(0, 4))
        size = self.node("Shape", x, start=axis, end=axis + 1)
        half = self.node("Mul", self.node("Cast", size, to=1), self.weight(np.array([0.5], "f4")))
        end = self.node("Cast", self.node("Ceil", half), to=7)
        bounds = [self.weight(np.array([0], np.int64)), end, self.weight(np.array([axis]))]
        return self.node("Slice", x, *bounds), f"{self.values[x]} half {axis}"

    def expanded(self, x: str) -> tuple[str, str]:
        axis = int(self.rng.integers(0, 4))
        shape = self.node("Shape", x)
        most = self.node("ReduceMax", x, self.weight(np.array([axis], np.int64)))
        return self.node("Expand", most, shape), self.values[x]


def run_graph(number: int) -> None:
    grower = Grower(number)
    grower.grow()
    last = list(grower.values)[-1]
    grower.nodes.append(helper.make_node("Identity", [last], ["y"]))
    rng = np.random.default_rng(number + 1000)
    sizes = [tuple(rng.integers(1, 7, 4).tolist()) for _ in range(SIZES)]
    runs = [{"x": rng.standard_normal(size).astype("float32")} for size in sizes]
    shapes: dict[str, list[Any]] = {"x": ["n", "c", "h", "w"]}
    model = make_model(grower.nodes, runs[0], ["y"], grower.weights, 18, shapes)
    check_sizes(model, runs, 1e-4)


# in the last one, a scale of an extent that is 1
@pytest.mark.parametrize("number", [0, 25, 50, 75, 110])
def test_a_part_of_the_graphs(number: int) -> None:
    run_graph(number)


@pytest.mark.long
@pytest.mark.parametrize("number", range(GRAPHS))
def test_all_graphs(number: int) -> None:
    run_graph(number)
