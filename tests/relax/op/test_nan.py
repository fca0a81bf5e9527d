"""Graphs that ask whether a number is NaN without `isnan`: it differs from itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op

pytestmark = pytest.mark.cpu


def _zero(x: Any) -> relax.Constant:
    return relax.const(np.zeros(1), x.struct_info.dtype)


FORMS: dict[str, Callable[[Any], Any]] = {
    "where": lambda x: op.where(op.not_equal(x, x), _zero(x), x),
    "or": lambda x: op.astype(op.logical_or(op.not_equal(x, x), op.less(x, x)), "float32"),
    "and": lambda x: op.astype(op.logical_and(op.equal(x, x), op.equal(x, x)), "float32"),
    "difference": lambda x: op.subtract(x, x),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("target", ["llvm", "llvm -opt-level=0", "llvm -num-cores=4", "c"])
def test_as_the_interpreter_says(form: str, dtype: str, target: str) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3, 33), dtype))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(bb.normalize(FORMS[form](x)))
        bb.emit_func_output(out)
    mod = bb.get()
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    given = np.random.default_rng(0).standard_normal((3, 33)).astype(kind)
    given[0, 0] = given[1, 32] = np.nan
    given[2, 5] = np.inf
    vm = relax.VirtualMachine(tvm.compile(mod, target), tvm.cpu())
    found = vm["main"](tvm.runtime.tensor(given)).numpy().astype("float64")
    with np.errstate(invalid="ignore"):
        wanted = np.asarray(relax.interp.run(mod, given)).astype("float64")
    np.testing.assert_array_equal(found, wanted)
