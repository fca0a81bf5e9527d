"""Regions of memory: what they say, and that they are saved with it."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.ir import memory_pools as pools

pytestmark = pytest.mark.pure


def test_what_is_not_said() -> None:
    target = tvm.target.Target("c")
    pool = tvm.ir.WorkspacePoolInfo("sram", [target])
    assert pool.targets == (target,)
    assert pool.pool_info_properties.size_hint_bytes == -1
    assert pool.pool_info_properties.read_latency_cycles == 0
    assert pool.READ_WRITE_ACCESS == "rw"
    assert tvm.ir.ConstantPoolInfo("flash", [target]).constant_info_array == ()


def test_they_are_saved_and_compared() -> None:
    target = tvm.target.Target("c")
    speed = pools.PoolInfoProperties(1024, 10_000, target_burst_bytes={target: 8})
    held = pools.ConstantInfo("weight", 64, tvm.runtime.tensor(np.arange(4.0)))
    constants = pools.ConstantMemoryPools([
        pools.ConstantPoolInfo("flash", [target], [held], speed)
    ])  # fmt: skip
    loaded = tvm.ir.load_json(tvm.ir.save_json(constants))
    tvm.ir.assert_structural_equal(loaded, constants)
    (pool,) = loaded.pools
    assert pool.pool_info_properties.size_hint_bytes == 1024
    assert pool.constant_info_array[0].data.numpy().tolist() == [0, 1, 2, 3]
    slower = pools.ConstantMemoryPools([pools.ConstantPoolInfo("flash", [target], [held])])
    assert not tvm.ir.structural_equal(slower, constants)


def test_only_regions_are_pools() -> None:
    with pytest.raises(TypeError, match="a region is a str: 'sram'; legal: PoolInfo"):
        pools.WorkspaceMemoryPools(["sram"])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="legal: ConstantPoolInfo"):
        pools.ConstantMemoryPools([pools.WorkspacePoolInfo("a", [])])  # type: ignore[list-item]
