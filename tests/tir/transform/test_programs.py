"""Every pass keeps the meaning of every sample program, and so does the machine code."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.tir.transform.programs import ALL
from tvm.ir.transform import PassContext
from tvm.testing.random_inputs import random_inputs
from tvm.tir import interp, transform
from tvm.tir.pipeline import lowering_passes

IDS = [make.__name__ for make in ALL]


def results(func, seed=0):
    args = random_inputs(func, seed)
    interp.run(func, *args)
    return args


@pytest.mark.pure
@pytest.mark.parametrize("predicates", [False, True])
@pytest.mark.parametrize("make", ALL, ids=IDS)
def test_each_pass_keeps_the_meaning(make, predicates):
    func = make()
    wanted = results(func)
    config = {"tir.enable_buffer_level_predication": predicates}
    with PassContext(config=config) as ctx:
        mod = tvm.IRModule.from_expr(func)
        for one in [*lowering_passes(ctx), transform.VectorMath(), transform.LowerIntrin()]:
            mod = one(mod)
            for found, want in zip(results(mod["main"]), wanted):
                np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5, err_msg=one.info.name)


@pytest.mark.cpu
@pytest.mark.parametrize("make", ALL, ids=IDS)
def test_machine_code_agrees(make):
    func = make()
    built = tvm.compile(func, target="llvm")
    for seed in range(2):
        wanted = results(func, seed)
        tensors = [tvm.runtime.tensor(x) for x in random_inputs(func, seed)]
        built["main"](*tensors)
        for found, want in zip(tensors, wanted):
            np.testing.assert_allclose(found.numpy(), want, rtol=1e-5, atol=1e-5)
