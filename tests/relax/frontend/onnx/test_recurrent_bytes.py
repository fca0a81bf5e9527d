"""LSTM layers with weights of 8 bits, against ONNX Runtime, on what CPUs multiply bytes with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import tvm
from tests.relax.frontend.onnx.models import make_model, run_compiled, run_onnx
from tvm.relax.frontend.onnx import from_onnx
from tvm.target import Target

pytestmark = pytest.mark.cpu
HAS = Target.from_device("cpu").cpu.features
CPUS = [
    cpu for cpu, needs in (("haswell", "avx2"), ("skylake-avx512", "avx512bw"),
                           ("cascadelake", "avx512vnni"))
    if needs in HAS
]  # fmt: skip


def case(
    dtype: str, hidden: int, batch: int, more: tuple[str, ...] = (), by_column: bool = True,
) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(hidden)
    steps, size = 6, 8

    def floats(*shape: int) -> Any:
        return (rng.standard_normal(shape) / 2).astype("float32")

    def octets(*shape: int) -> Any:
        numbers = rng.integers(-64, 64, shape)
        return (numbers + (128 if dtype == "uint8" else 0)).astype(dtype)

    gates = 4 * hidden
    scales = (2, gates) if by_column else (2,)
    points = np.full(scales, 131 if dtype == "uint8" else 0, dtype)
    arrays = {
        "x": floats(steps, batch, size), "w": octets(2, size, gates), "r": octets(2, hidden, gates),
        "b": floats(2, 2 * gates), "lengths": np.full(batch, steps, "int32"),
        "h": floats(2, batch, hidden), "c": floats(2, batch, hidden), "p": floats(2, 3 * hidden),
        "ws": abs(floats(*scales)) / 50 + 0.001, "wz": points,
        "rs": abs(floats(*scales)) / 50 + 0.001, "rz": points,
    }  # fmt: skip
    optional = [name if name in more else "" for name in ("lengths", "h", "c", "p")]
    names = ["x", "w", "r", "b", *optional, "ws", "wz", "rs", "rz"]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["y", "y_h", "y_c"],
                            domain="com.microsoft", hidden_size=hidden,
                            direction="bidirectional")  # fmt: skip
    x = {"x": arrays["x"]}
    weights = {name: arrays[name] for name in names[1:] if name}
    return make_model([node], x, ["y", "y_h", "y_c"], weights), x


def compared(model: Any, arrays: dict[str, Any], **options: Any) -> None:
    for have, want in zip(run_compiled(model, arrays, **options), run_onnx(model, arrays)):
        np.testing.assert_allclose(have, want, rtol=0, atol=1e-6)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("hidden", "batch"), [(16, 1), (5, 1), (20, 6)])
def test_hidden_sizes(dtype: str, hidden: int, batch: int) -> None:
    """Whole tiles of columns, parts of them; words of inputs that are not full; rows together."""
    compared(*case(dtype, hidden, batch))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("batch", [1, 5])
def test_states_and_peepholes(dtype: str, batch: int) -> None:
    compared(*case(dtype, 8, batch, ("h", "c", "p"), by_column=False))


def test_lengths() -> None:
    """All rows are whole; ONNX Runtime has its own way with the scale of rows that ended."""
    compared(*case("int8", 8, 5, ("lengths", "h", "c", "p")))


@pytest.mark.parametrize("cpu", CPUS)
def test_instructions(cpu: str) -> None:
    compared(*case("int8", 32, 5), target=f"llvm -mcpu={cpu}")


@pytest.mark.parametrize("batch", [1, 4])
def test_devices_have_no_loops_over_nothing(batch: int) -> None:
    """Of full tiles of the batch, or of rows left over; a grid has at least one block."""
    model, _ = case("int8", 8, batch)
    tvm.compile(from_onnx(model), "opencl")
