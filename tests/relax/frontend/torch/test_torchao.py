"""Operators of torchao: blocks that share a scale, against the same arithmetic in numpy.

Where torch and torchao are installed, weights that torchao quantised too, against torch's numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tests.relax.programs import run_interp
from tvm import relax
from tvm.error import OpAttributeUnImplemented
from tvm.relax.frontend.torch import torchao
from tvm.relax.frontend.torch.registry import functions

BLOCKS = [(1, 12), (1, 4), (3, 6), (6, 12), (2, 1)]


def run(make: Callable[..., Any], *arrays: Any) -> Any:
    """What a converter's program gives for these arrays."""
    given = [
        relax.Var(f"x{i}", relax.TensorStructInfo(array.shape, str(array.dtype)))
        for i, array in enumerate(arrays)
    ]
    bb = relax.BlockBuilder()
    with bb.function("main", given):
        made = make(bb, *given)
        bb.emit_func_output(bb.emit(relax.Tuple(made) if isinstance(made, tuple) else made))
    return run_interp(bb.get(), list(arrays))


def numbers(*shape: int, seed: int = 1) -> Any:
    return np.random.default_rng(seed).normal(0, 2, shape).astype("float32")


def blocks_of(array: Any, block: tuple[int, ...]) -> Any:
    """(blocks along each axis..., elements)"""
    counts = [size // b for size, b in zip(array.shape, block)]
    apart = array.reshape(counts[0], block[0], counts[1], block[1]).transpose(0, 2, 1, 3)
    return apart.reshape(*counts, -1)


def spread(values: Any, block: tuple[int, ...]) -> Any:
    """A number a block, for each element."""
    return np.repeat(np.repeat(values, block[0], 0), block[1], 1)


def test_names() -> None:
    assert {"choose_qparams_affine", "quantize_affine", "dequantize_affine"} < set(functions())


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("kind", ["SYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR", "ASYMMETRIC"])
def test_scales(kind: str, block: tuple[int, ...]) -> None:
    x = numbers(6, 12)
    scale, zero = run(
        lambda bb, x: torchao.choose_scales(
            bb, x, kind, block, "int8", -8, 7, 1e-5, "float32", "int8", True
        ), x,
    )  # fmt: skip
    parts = blocks_of(x, block)
    low, high = np.minimum(parts.min(-1), 0), np.maximum(parts.max(-1), 0)
    if kind == "SYMMETRIC":
        wanted = np.maximum(-low, high) / np.float32(7.5)
    elif kind == "ASYMMETRIC":
        wanted = (high - low) / np.float32(15)
    else:
        wanted = np.maximum(low / np.float32(-8), high / np.float32(7))
    np.testing.assert_allclose(scale, wanted, rtol=1e-6)
    points = np.clip(-8 - np.round(low / wanted), -8, 7) if kind == "ASYMMETRIC" else 0 * low
    np.testing.assert_array_equal(zero, points.astype("int8"))


def test_scales_of_nothing_are_not_zero() -> None:
    x = np.zeros((2, 4), "float32")
    scale, zero = run(
        lambda bb, x: torchao.choose_scales(bb, x, "ASYMMETRIC", (1, 4), "int8"), x
    )
    np.testing.assert_array_equal(scale, np.full(2, np.finfo("float32").tiny))
    np.testing.assert_array_equal(zero, np.full(2, -128, "int32"))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_to_integers_and_back(dtype: str, block: tuple[int, ...]) -> None:
    x = numbers(6, 12)
    counts = [size // b for size, b in zip(x.shape, block)]
    scale = np.random.default_rng(2).uniform(0.2, 0.6, counts).astype("float32")
    zero = np.random.default_rng(3).integers(0, 5, counts).astype(dtype)
    low, high = (0, 15) if dtype == "uint8" else (-8, 7)

    def both(bb: Any, x: Any, scale: Any, zero: Any) -> Any:
        stored = bb.emit(
            torchao.quantize_blocks(bb, x, block, scale, zero, dtype, low, high)
        )
        return stored, torchao.dequantize_blocks(bb, stored, block, scale, zero, dtype, low, high)

    stored, real = run(both, x, scale, zero)
    step, point = spread(scale, block), spread(zero.astype("float32"), block)
    whole = np.clip(np.round(x * (np.float32(1) / step)) + point, low, high)
    np.testing.assert_array_equal(stored, whole.astype(dtype))
    np.testing.assert_allclose(real, (whole - point) * step, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("block", [(1, 12), (6, 12), (3, 4)])
def test_floats_of_8_bits(dtype: str, block: tuple[int, ...]) -> None:
    x = numbers(6, 12) * np.float32(100)

    def both(bb: Any, x: Any) -> Any:
        scale = bb.emit(torchao.choose_scale(bb, x, block, dtype))
        stored = bb.emit(torchao.quantize_float8(bb, x, scale, dtype))
        return scale, torchao.dequantize_float8(bb, stored, scale)

    scale, real = run(both, x)
    limits: Any = ml_dtypes.finfo
    most = float(limits(dtype).max)
    wanted = np.abs(blocks_of(x, block)).max(-1) / np.float32(most)
    np.testing.assert_allclose(scale, wanted, rtol=1e-6)
    step = spread(wanted, block)
    stored = np.clip(x / step, -most, most).astype(getattr(ml_dtypes, dtype))
    np.testing.assert_allclose(real, stored.astype("float32") * step, rtol=1e-6)


def test_refused() -> None:
    x = numbers(6, 12)
    for block, word in (((1, 5), "divides"), ((12,), "an extent for each axis")):
        with pytest.raises(OpAttributeUnImplemented, match=word):
            run(lambda bb, x, b=block: torchao.choose_scales(bb, x, "SYMMETRIC", b, "int8"), x)
    with pytest.raises(OpAttributeUnImplemented, match="ASYMMETRIC"):
        run(lambda bb, x: torchao.choose_scales(bb, x, "ROUND", (1, 12), "int8"), x)


def configurations() -> dict[str, Any]:
    import torch
    from torchao import quantization as q
    from torchao.quantization.granularity import PerAxis, PerGroup

    return {
        "int8 weights": lambda: q.Int8WeightOnlyConfig(),
        "int8": lambda: q.Int8DynamicActivationInt8WeightConfig(),
        "int4 weights": lambda: q.IntxWeightOnlyConfig(
            weight_dtype=torch.int4, granularity=PerGroup(32)
        ),
        "int3 weights, int8": lambda: q.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int3, weight_granularity=PerAxis(0)
        ),
        "float8 weights": lambda: q.Float8WeightOnlyConfig(),
    }


NAMES = ("int8 weights", "int8", "int4 weights", "int3 weights, int8", "float8 weights")


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.cpu
def test_networks(name: str, keep: bool) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("torchao")
    from torchao.quantization import quantize_

    from tvm.relax.frontend import detach_params
    from tvm.relax.frontend.torch import from_exported_program

    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.Linear(96, 32)
    ).eval()  # fmt: skip
    x = torch.randn(5, 64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantize_(model, configurations()[name]())
        rows = torch.export.Dim("rows", min=2, max=64)
        program = torch.export.export(model, (x,), dynamic_shapes=({0: rows},))
        wanted = model(x).detach().numpy()
    mod = from_exported_program(program, keep_params_as_input=keep)
    mod, params = detach_params(mod) if keep else (mod, {"main": []})
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    made = vm["main"](tvm.runtime.tensor(x.numpy()), *params["main"])
    np.testing.assert_allclose(made[0].numpy(), wanted, rtol=1e-5, atol=1e-5)
