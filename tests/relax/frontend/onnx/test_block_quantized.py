"""Weights of few bits, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return (RNG.standard_normal(shape) * 0.5).astype("float32")


def octets(*shape: int) -> Array:
    return RNG.integers(0, 256, shape).astype("uint8")


def run(op: str, inputs: list[Any], shape: list[Any] | None = None, **attrs: Any) -> None:
    arrays = {f"x{i}": array for i, array in enumerate(inputs) if array is not None}
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attrs)
    shapes = {"x0": shape} if shape else None
    data = {"x0": arrays.pop("x0")} if op != "GatherBlockQuantized" else {"x1": arrays.pop("x1")}
    check_sizes(make_model([node], data, ["y"], arrays, shapes=shapes), [data], 1e-4)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_products(bits: int) -> None:
    weight = octets(5, 2, 4 * bits)
    options = {"N": 5, "K": 64, "block_size": 32, "bits": bits}
    run("MatMulNBits", [floats(2, 3, 64), weight, floats(10)], ["b", "s", 64], **options)
    zeros = octets(-(-2 * bits // 8) * 5)
    run("MatMulNBits", [floats(3, 64), weight, floats(10), zeros, None, floats(5)], **options)


def test_products_of_several_shapes() -> None:
    """A kernel for each, and each under a name of its own."""
    weights, nodes = {}, []
    for x, y, n, k in (("x", "a", 96, 64), ("a", "b", 32, 96), ("b", "y", 64, 32)):
        weights |= {f"w{y}": octets(n, k // 32, 16), f"s{y}": floats(n, k // 32) / 64}
        sizes = {"N": n, "K": k, "block_size": 32}
        inputs = [x, f"w{y}", f"s{y}"]
        nodes.append(helper.make_node("MatMulNBits", inputs, [y], domain="com.microsoft", **sizes))
    data = {"x": floats(3, 64)}
    check_sizes(make_model(nodes, data, ["y"], weights), [data], 1e-4)


def test_accuracy_level_of_bytes() -> None:
    """Inputs are rounded to 8 bits, in blocks of 32: here they have no more."""
    inputs = RNG.integers(-126, 127, (3, 64)).astype("float32")
    inputs[:, ::32] = 127
    sizes = {"N": 5, "K": 64, "block_size": 32, "bits": 4}
    run("MatMulNBits", [inputs / 64, octets(5, 2, 16), floats(10)], accuracy_level=4, **sizes)


def test_zero_points_of_floats() -> None:
    inputs = [floats(3, 64), octets(5, 2, 16), floats(10), floats(10)]
    run("MatMulNBits", inputs, N=5, K=64, block_size=32)


@pytest.mark.parametrize("kind", [0, 1])
def test_numbers_of_a_table(kind: int) -> None:
    inputs = [floats(3, 64), octets(160), abs(floats(10))]
    run("MatMulBnb4", inputs, ["n", 64], N=5, K=64, block_size=32, quant_type=kind)


@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_a_table(bits: int) -> None:
    blocks = 32 * (8 // bits) // 16
    inputs = [octets(6, 32), np.array([[1, 5], [0, 2]]), floats(6, blocks), octets(6, 2)]
    run("GatherBlockQuantized", inputs, bits=bits, block_size=16, quantize_axis=1)
