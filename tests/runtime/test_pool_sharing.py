"""The first pool of a process serves all later libraries."""

from __future__ import annotations

import ctypes

import pytest

from tvm.error import TVMError
from tvm.runtime import pool_sharing, threads

pytestmark = pytest.mark.pure


def table(launch: int) -> ctypes.Array:
    return (ctypes.c_void_p * 3)(None, launch, launch)


def test_later_libraries_get_the_first_ones_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_sharing, "_lender", None)
    monkeypatch.setattr(threads, "_listeners", [])
    monkeypatch.setattr(pool_sharing, "library", _Quiet)
    first, second = table(0x1000), table(0x2000)
    pool_sharing.join_pools(ctypes.addressof(first))
    pool_sharing.join_pools(ctypes.addressof(second))
    pool_sharing.join_pools(ctypes.addressof(first))
    assert (first[0], second[0]) == (None, 0x1000)
    assert len(threads._listeners) == 1


class _Quiet:
    """In place of tvm_ffi: registers nothing."""

    class LIB:
        @staticmethod
        def TVMFFIEnvModRegisterContextSymbol(name: bytes, address: object) -> int:
            assert name == pool_sharing.TABLE.encode()
            return 0


def test_who_watches_hooks_the_lender_and_is_told_the_way_past(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_sharing, "_lender", None)
    monkeypatch.setattr(pool_sharing, "_hooked", None)
    monkeypatch.setattr(threads, "_listeners", [])
    monkeypatch.setattr(pool_sharing, "library", _Quiet)
    own, first = ctypes.c_void_p(0x1500), table(0x1000)
    pool_sharing.join_pools(ctypes.addressof(first), ctypes.addressof(own))
    with pool_sharing.watched_launches(lambda past: past + 1):
        assert first[0] == 0x1501
    assert first[0] is None
    monkeypatch.setattr(pool_sharing, "_hooked", None)
    with (
        pytest.raises(TVMError, match="the pool of an older library"),
        pool_sharing.watched_launches(lambda past: past),
    ):
        pass


def test_libraries_without_a_pool_are_lent_one(monkeypatch: pytest.MonkeyPatch) -> None:
    pointer = ctypes.c_void_p(None)
    monkeypatch.setattr(pool_sharing, "_lender", 0x3000)
    pool_sharing.lend_pool(ctypes.addressof(pointer))
    assert pointer.value == 0x3000
    monkeypatch.setattr(pool_sharing, "_lender", None)
    monkeypatch.setattr(pool_sharing, "_POOL_HOME", "tvm.no_such_module")
    pool_sharing.lend_pool(ctypes.addressof(pointer))
    assert pointer.value is None, "loops run serially"
