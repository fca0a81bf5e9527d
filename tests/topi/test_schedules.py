"""Schedule functions of scripts by the names that targets give them."""

from __future__ import annotations

import importlib

import pytest

from tvm import te, topi
from tvm.topi.schedules import COMMON

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("target", ["generic", "x86", "arm_cpu", "cuda"])
def test_each_gives_its_tensors(target: str) -> None:
    module = importlib.import_module(f"tvm.topi.{target}")
    outs = [te.placeholder((2,))]
    for name in COMMON:
        func = getattr(module, name)
        assert (func.__module__, func.__name__) == (module.__name__, name)
        assert func(outs) is outs
    assert module.schedule_pool(outs, "NCHW") is outs
    with pytest.raises(AttributeError, match=f"module 'tvm.topi.{target}' has no attribute 'sch'"):
        module.sch


def test_operators_are_those_of_all_targets() -> None:
    assert topi.x86.conv2d_nchw is topi.arm_cpu.conv2d_nchw_spatial_pack is topi.nn.conv2d_nchw
    assert topi.cuda.dense_small_batch is topi.x86.dense_nopack is topi.nn.dense
    assert topi.x86.concatenate is topi.concatenate
