"""The collector of cycles rests while programs are compiled, and no longer."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

import tvm
from tvm import te
from tvm.support.garbage import infrequent_gc

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_settings_come_back_after_the_last_block() -> None:
    gc.set_threshold(700, 10, 10)
    with infrequent_gc():
        with pytest.raises(KeyError), infrequent_gc():
            raise KeyError
        assert gc.get_threshold()[0] == 50_000
    assert gc.get_threshold()[:2] == (700, 10)


def test_what_the_user_chose_is_kept() -> None:
    gc.set_threshold(0)
    with infrequent_gc():
        assert gc.get_threshold()[0] == 0
    gc.set_threshold(100_000, 60, 10)
    with infrequent_gc():
        assert gc.get_threshold()[:2] == (100_000, 60)
    assert gc.get_threshold()[:2] == (100_000, 60)


def test_compiling_leaves_the_settings() -> None:
    a = te.placeholder((4,), name="A")
    func = te.create_prim_func([a, te.compute((4,), lambda i: a[i] + 1.0)])
    before = gc.get_threshold()
    seen = []

    @tvm.transform.module_pass(opt_level=0)
    def look(mod: tvm.IRModule, ctx: tvm.transform.PassContext) -> tvm.IRModule:
        seen.append(gc.get_threshold()[0])
        return tvm.tir.get_default_tir_pipeline(tvm.target.Target("c"))(mod)

    tvm.compile(func, "c", tir_pipeline=look)
    assert seen == [50_000]
    assert gc.get_threshold() == before
