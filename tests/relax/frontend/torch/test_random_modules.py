"""Random modules, exported with every extent open, give what torch gives at other sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import CPUS, PLAIN
from tvm import relax
from tvm.error import ShapeError
from tvm.relax.frontend.torch import from_exported_program

from .random_modules import Grower

torch = pytest.importorskip("torch")
CHOICES = CPUS or [PLAIN]
FIRST, SIZES = (5, 9, 11), 5
OPEN = torch.export.Dim.DYNAMIC


def inputs(rng: np.random.Generator, texts: bool, sizes: tuple[int, ...]) -> tuple[Any, ...]:
    batch, height, width = sizes
    shape, count = ((batch, height, 8), 2) if texts else ((batch, 4, height, width), 1)
    return tuple(torch.from_numpy(rng.standard_normal(shape, "float32")) for _ in range(count))


def exported(module: Any, given: tuple[Any, ...], texts: bool) -> Any:
    """The program for every size, or None where torch finds that it is not one."""
    axes = (0, 1) if texts else (0, 2, 3)
    shapes = (tuple(dict.fromkeys(axes, OPEN) for _ in given),)
    try:
        return torch.export.export(module, given, dynamic_shapes=shapes)
    except (torch._dynamo.exc.UserError, ValueError, RuntimeError):
        return None


def takes(program: Any, given: tuple[Any, ...]) -> bool:
    """Whether the conditions that torch has found hold for these."""
    try:
        program.module()(*given)
    except (AssertionError, RuntimeError, IndexError):
        return False
    return True


def assert_near(found: np.ndarray, wanted: np.ndarray) -> None:
    """All but one number of a hundred: where sums differ in the last bit, steps may jump."""
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    scale = max(1.0, float(np.abs(wanted[np.isfinite(wanted)]).max(initial=0)))
    near = np.isclose(found, wanted, rtol=1e-3, atol=2e-4 * scale, equal_nan=True)
    assert near.mean() >= 0.99 or not near.size


def check(seed: int) -> int:
    """Compares at several sizes; gives how many of them the module takes."""
    rng = np.random.default_rng(seed)
    texts = seed % 2 == 0
    given = inputs(rng, texts, FIRST)
    with torch.no_grad():
        module = Grower(seed, given).grow(int(rng.integers(2, 8)))
        program = exported(module, given, texts)
        if program is None:
            return 0
        target = f"llvm -mcpu={CHOICES[seed // 2 % len(CHOICES)]}"
        made = tvm.compile(from_exported_program(program), target)
        machine = relax.VirtualMachine(made, tvm.cpu())
        count = 0
        others = [tuple(rng.integers(6, 23, 3).tolist()) for _ in range(SIZES - 2)]
        for sizes in (FIRST, (1, 8, 16), *others):
            given = inputs(rng, texts, sizes)
            if not takes(program, given):
                continue
            count += 1
            try:
                results = machine["main"](*[x.numpy() for x in given])
            except ShapeError:  # torch traced what it squeezes for other extents than 1
                assert sizes[0] == 1
                continue
            for found, wanted in zip(results, module(*given), strict=True):
                assert_near(found.numpy(), wanted.numpy())
        return count


@pytest.mark.parametrize("seed", range(12))
def test_random_modules(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(12, 200))
def test_more_random_modules(seed: int) -> None:
    check(seed)


def test_most_modules_run_at_every_size() -> None:
    """Otherwise the others show nothing."""
    assert sum(check(seed) for seed in range(6)) > 3 * SIZES
