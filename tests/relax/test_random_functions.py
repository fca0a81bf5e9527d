"""Random functions: text and back, and the same result in interpreter, bytecode and native form."""

from __future__ import annotations

import pytest

import tvm
from tests.covering import few
from tests.relax.programs import as_arrays, assert_same, run_interp
from tests.relax.random_functions import random_arguments, random_functions
from tvm import relax

pytestmark = pytest.mark.cpu
A_MODULE = 10


def _check(seed: int) -> None:
    mod = random_functions(seed, A_MODULE)
    assert relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)
    args = random_arguments(seed)
    wanted = [run_interp(mod, args, f"f{i}") for i in range(A_MODULE)]
    for mode in ("bytecode", "compiled"):
        machine = relax.VirtualMachine(relax.build(mod, "llvm", exec_mode=mode), tvm.cpu())
        for i, value in enumerate(wanted):
            assert_same(value, as_arrays(machine[f"f{i}"](*args)), 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(4), 2))
def test_random_functions(seed: int) -> None:
    _check(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4, 104))
def test_many_random_functions(seed: int) -> None:
    _check(seed)
