"""Graphs that run on a device and on the CPU, and are compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tvm
from tvm import relax
from tvm.relax import op as o
from tvm.target import Target

Make = Callable[..., Any]


def module(make: Make, *arrays: np.ndarray[Any, Any]) -> tvm.IRModule:
    """A graph of a call of operators on inputs like these."""
    given = [
        relax.Var(f"x{i}", relax.TensorStructInfo(a.shape, str(a.dtype)))
        for i, a in enumerate(arrays)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", given):
        with bb.dataflow():
            out = bb.emit_output(bb.normalize(make(*given)))
        bb.emit_func_output(out)
    return bb.get()


def machine(mod: tvm.IRModule, device: Any) -> relax.VirtualMachine:
    """The program on a device."""
    target = Target(device.type, host="llvm") if device.type != "cpu" else Target("llvm")
    return relax.VirtualMachine(tvm.compile(mod, target), device)


def compare(device: Any, make: Make, *arrays: np.ndarray[Any, Any]) -> None:
    """The device gives what the CPU gives."""
    mod = module(make, *arrays)
    wanted = machine(mod, tvm.cpu())["main"](*arrays).numpy()
    found = machine(mod, device)["main"](*arrays)
    assert found.device == device
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-5)


def floats(*shape: int, seed: int = 5) -> np.ndarray[Any, Any]:
    """Values between -1 and 1."""
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("float32")


CASES: dict[str, tuple[Make, Sequence[np.ndarray[Any, Any]]]] = {
    "add": (o.add, [floats(5, 7), floats(5, 7, seed=6)]),
    "matmul": (o.matmul, [floats(37, 64), floats(64, 40)]),
    "softmax": (lambda x: o.nn.softmax(x, -1), [floats(4, 100)]),
    "mean of all": (o.mean, [floats(3, 4)]),
    "layer norm": (lambda x, g, b: o.nn.layer_norm(x, g, b, axes=[-1]),
                   [floats(6, 50), floats(50), floats(50)]),
    "convolution": (lambda x, w: o.nn.conv2d(x, w, padding=1), [floats(1, 3, 9, 9),
                                                               floats(8, 3, 3, 3)]),
    "attention": (o.nn.attention, [floats(1, 9, 4, 16), floats(1, 12, 4, 16),
                                   floats(1, 12, 4, 16)]),
    "cumsum": (lambda x: o.cumsum(x, axis=1), [floats(4, 33)]),
    "int8": (o.multiply, [np.arange(-50, 51, dtype="int8"), np.arange(101, dtype="int8")]),
    "bool": (o.less, [floats(13), floats(13, seed=9)]),
}  # fmt: skip
