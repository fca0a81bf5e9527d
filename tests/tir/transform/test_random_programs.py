"""Random programs give the same results before lowering, after each pass, and as machine code."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.covering import few
from tests.tir.transform.random_programs import Maker
from tvm.ir.transform import PassContext
from tvm.testing.random_inputs import random_inputs
from tvm.tir import interp
from tvm.tir.pipeline import lowering_passes

CONFIGS = (
    {},
    {
        "tir.enable_buffer_level_predication": True,
        "tir.LoopPartition": {"partition_const_loop": True},
    },
)


def results(func, seed):
    args = random_inputs(func, seed)
    interp.run(func, *args)
    return args


def agree(found, wanted, note=""):
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4, err_msg=note)


def check_passes(seed):
    func = Maker(seed).program()
    wanted = results(func, seed)
    for config in CONFIGS:
        with PassContext(config=config) as ctx:
            mod = tvm.IRModule.from_expr(func)
            for one in lowering_passes(ctx):
                mod = one(mod)
                agree(results(mod["main"], seed), wanted, one.info.name)


def check_machine_code(seed):
    func = Maker(seed).program()
    wanted = results(func, seed)
    found = random_inputs(func, seed)
    tvm.compile(func)["main"](*found)
    agree(found, wanted)


@pytest.mark.pure
@pytest.mark.parametrize("seed", few(range(40), 12))
def test_each_pass_keeps_the_meaning(seed):
    check_passes(seed)


@pytest.mark.cpu
@pytest.mark.parametrize("seed", few(range(40, 60), 8))
def test_machine_code_agrees(seed):
    check_machine_code(seed)


@pytest.mark.long
def test_many_programs():
    for seed in range(1000, 3000):
        check_passes(seed)
        check_machine_code(seed)
