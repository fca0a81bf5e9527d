"""How cases run: as JAX runs them, and as imported programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.frontend.stablehlo import from_stablehlo

jax = pytest.importorskip("jax")
RANDOM = np.random.default_rng(0)


def f(*shape: int, lo: float = -1.0, hi: float = 1.0) -> Any:
    """Floats."""
    return RANDOM.uniform(lo, hi, shape).astype("float32")


def i(*shape: int, lo: int = 0, hi: int = 5) -> Any:
    """Whole numbers."""
    return RANDOM.integers(lo, hi, shape).astype("int32")


def text(function: Callable[..., Any], *arrays: Any) -> str:
    """The imported program."""
    lowered = jax.jit(function, keep_unused=True).lower(*arrays)
    return from_stablehlo(lowered.compiler_ir(dialect="stablehlo")).script()


def same(function: Callable[..., Any], *arrays: Any) -> None:
    """The imported program, compiled, gives JAX's shapes, data types and numbers."""
    wanted = jax.tree_util.tree_leaves(jax.jit(function)(*arrays))
    lowered = jax.jit(function, keep_unused=True).lower(*arrays)
    mod = from_stablehlo(lowered.compiler_ir(dialect="stablehlo"))
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    found = vm["main"](*[tvm.runtime.tensor(array) for array in arrays])
    found = [found] if hasattr(found, "numpy") else list(found)
    assert len(found) == len(wanted)
    for have, should in zip(found, map(np.asarray, wanted)):
        assert have.numpy().dtype == should.dtype
        close = 1e-2 if should.dtype == np.float16 else 1e-4
        np.testing.assert_allclose(have.numpy(), should, rtol=close, atol=1e-5)
