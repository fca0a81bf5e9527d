"""Factors of matrices: what they multiply to, against numpy's numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.frontend import spectra
from tvm.relax.struct_info import TensorStructInfo

RANDOM = np.random.default_rng(7)


def _run(kernel: Callable[..., Any], x: Any, **options: Any) -> list[Any]:
    """The kernel of matrices of any size, compiled, on a batch of these."""
    batch, m = (tvm.tir.Var(name, "int64") for name in "bm")
    n = tvm.tir.Var("n", "int64") if x.shape[1] != x.shape[2] else m
    bb = relax.BlockBuilder()
    given = relax.Var("x", TensorStructInfo([batch, m, n], str(x.dtype)))
    with bb.function("main", [given]):
        with bb.dataflow():
            out = bb.emit_output(bb.call_te(kernel, given, **options))
        bb.emit_func_output(out)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    return [one.numpy() for one in vm["main"](tvm.runtime.tensor(x))]


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(2, 5, 3), (1, 3, 5), (2, 4, 4), (1, 1, 1)])
@pytest.mark.parametrize("complete", [True, False])
def test_orthogonal_factors(shape: tuple[int, ...], complete: bool) -> None:
    x = RANDOM.standard_normal(shape)
    q, r, _ = _run(spectra.orthogonal_factors, x, complete=complete)
    wanted = np.linalg.qr(x, "complete" if complete else "reduced")
    np.testing.assert_allclose(q, wanted[0], atol=1e-12)
    np.testing.assert_allclose(r[:, : wanted[1].shape[1]], wanted[1], atol=1e-12)


@pytest.mark.cpu
@pytest.mark.parametrize("upper", [True, False])
def test_symmetric_spectrum(upper: bool) -> None:
    x = RANDOM.standard_normal((3, 6, 6))
    w, v, _ = _run(spectra.symmetric_spectrum, x, upper=upper)
    np.testing.assert_allclose(w, np.linalg.eigvalsh(x, "U" if upper else "L"), atol=1e-12)
    half = np.triu(x) if upper else np.tril(x)
    whole = half + half.swapaxes(1, 2) - np.eye(6) * half
    np.testing.assert_allclose(v * w[:, None] @ v.swapaxes(1, 2), whole, atol=1e-12)


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [(2, 6, 3), (1, 4, 4)])
@pytest.mark.parametrize("rank", [None, 2, 0])
def test_singular_factors(shape: tuple[int, ...], rank: int | None) -> None:
    x = RANDOM.standard_normal(shape)
    if rank is not None:
        x[:, :, rank:] = x[:, :, :1] if rank else 0
    for complete in (True, False):
        u, s, v = _run(spectra.singular_factors, x, complete=complete)
        count = shape[2]
        np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), atol=1e-12)
        np.testing.assert_allclose(
            u[:, :, :count] * s[:, None] @ v.swapaxes(1, 2), x, atol=1e-12
        )
        for one in (u, v):
            product = one.swapaxes(1, 2) @ one
            np.testing.assert_allclose(product, np.eye(len(product[0])) + 0 * product, atol=1e-12)


@pytest.mark.cpu
def test_exponential() -> None:
    turn = np.array([[[0.0, -1.0], [1.0, 0.0]]]) * 7.0  # by seven radians
    found = _run(spectra.exponential, turn)[0]
    wanted = [[[np.cos(7), -np.sin(7)], [np.sin(7), np.cos(7)]]]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    broken = _run(spectra.exponential, np.full((1, 2, 2), np.nan))[0]
    assert np.isnan(broken).all()
