"""What estimates say of data that is near, shared and far."""

from __future__ import annotations

from dataclasses import replace

from tvm.relax.transform.locality import Locality
from tvm.target import Target

CPU = replace(Target("llvm -mcpu=znver4").cpu, l2_bytes=1 << 20, l3_bytes=16 << 20, cores=1)
MB = 1 << 20


def test_parts_that_are_nearer_gain():
    cache = Locality(CPU)
    assert cache.moved(MB // 4, MB // 8) == 0
    assert 0 < cache.moved(4 * MB, MB // 4) < cache.moved(64 * MB, MB // 4)
    assert 0 < cache.moved(64 * MB, 32 * MB) < cache.moved(64 * MB, 16 * MB)
    assert cache.moved(64 * MB, 4 * MB) < cache.moved(64 * MB, MB // 4)


def test_a_cache_keeps_what_fits_of_more():
    """No cliff: images just beyond a cache gain by it nearly as those just within."""
    cache = Locality(CPU)
    within, beyond = (cache.moved(64 * MB, part * MB) for part in (7.9, 8.1))
    assert 0.95 * within < beyond < within


def test_weights_cost_more_where_all_of_them_leave_the_caches():
    cache = Locality(CPU)
    assert 0 < cache.weights(MB, 2 * MB) < cache.weights(MB, 64 * MB)


def test_cores_share_memory_and_meet():
    one, two = Locality(CPU), Locality(replace(CPU, cores=2))
    assert two.moved(64 * MB, MB // 4) < one.moved(64 * MB, MB // 4)
    assert two.call > one.call
    assert two.shared == one.shared  # sizes are those of one core
