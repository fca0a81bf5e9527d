"""Convolutions of which the call chooses the form: both forms, and when each is taken."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.cpu.test_winograd import program
from tests.dlight.programs import HASWELL, NEON, SPR, scheduled
from tvm import te, tir, topi
from tvm.dlight.cpu import Conv2D, Winograd, WinogradOrDirect, default_rules
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir.functor import walk
from tvm.tir.index_dtype import with_index_dtype
from tvm.tir.stmt import IfThenElse
from tvm.topi.nn.winograd_panels import Panels, transformed_weights, winograd_or_direct

N, H, W = (tir.SizeVar(name, "int64") for name in "nhw")
RNG = np.random.default_rng(4)


def large(images: PrimExpr, high: PrimExpr, wide: PrimExpr) -> PrimExpr:
    return images * high * wide > tir.const(20, "int64")


def i64(value: int) -> tir.IntImm:
    return tir.IntImm("int64", value)


def both(epilogue: bool = True, outs: int = 3, channels: int = 2) -> tir.PrimFunc:
    panels = Panels(1, 2)
    x = te.placeholder((N, i64(channels), H, W), name="X")
    u = te.placeholder([i64(n) for n in (-(-outs // 2), 36, channels, 2)], name="U")
    w = te.placeholder([i64(n) for n in (outs, channels, 3, 3)], name="W")
    y = winograd_or_direct(x, u, w, (1, 1, 1, 1), panels, large)
    if not epilogue:
        return with_index_dtype(te.create_prim_func([x, u, w, y]), DataType("int64"))
    bias = te.placeholder([i64(n) for n in (outs, 1, 1)], name="bias")
    more = te.placeholder(y.shape, name="R")
    y = topi.nn.relu(topi.add(topi.add(y, bias), more))
    return with_index_dtype(te.create_prim_func([x, u, w, bias, more, y]), DataType("int64"))


@pytest.mark.covering(1)
@pytest.mark.parametrize("target", [SPR, HASWELL, NEON])
@pytest.mark.parametrize("call", [(1, 3, 4), (2, 3, 5), (0, 3, 3)])
def test_means_the_same(target: Target, call: tuple[int, int, int]) -> None:
    after = scheduled(WinogradOrDirect(), both(), target, dict(zip("nhw", call)))
    reason = str(after.attrs["schedule_reason"])
    assert "Winograd's F(4x4, 3x3) for any size" in reason
    assert "panels of rows of planes of any size" in reason


def test_each_form_is_made_of_its_own_blocks() -> None:
    (rule,) = [r for r in default_rules() if isinstance(r, WinogradOrDirect)]
    after = rule.apply(both(), SPR, False).mod["main"]
    forms = next(n for n in walk(after.body.block.body) if isinstance(n, IfThenElse))
    tiled, direct = (
        {n.buffer.name for n in walk(form) if isinstance(n, tir.BufferLoad)}
        for form in (forms.then_case, forms.else_case)
    )
    assert "U" in tiled
    assert "W" not in tiled
    assert "W" in direct
    assert "U" not in direct


def test_others_stay() -> None:
    rule = WinogradOrDirect()
    assert rule.apply(program((1, 3, 8, 8), 4, Panels(2, 4)), SPR, False) is None
    assert isinstance(default_rules()[1], WinogradOrDirect)
    assert Winograd().apply(both(), SPR, False) is not None  # right, if slower: both are made
    assert Conv2D().apply(both(), SPR, False) is not None


@pytest.mark.cpu
@pytest.mark.parametrize("epilogue", [False, True])
def test_machine_code(epilogue: bool) -> None:
    rules = tvm.dlight.ApplyDefaultSchedule(*default_rules())
    with Target("llvm"):
        made = rules(tvm.IRModule({"main": both(epilogue, 5, 3)}))
        run = tvm.compile(made, target="llvm")["main"]
    w = (RNG.standard_normal((5, 3, 3, 3)) / 5).astype("float32")
    u = transformed_weights(w, 2)
    bias = RNG.standard_normal((5, 1, 1)).astype("float32")
    for n, h, wide in ((1, 1, 1), (1, 3, 6), (1, 4, 6), (2, 7, 9), (3, 5, 33)):
        x = RNG.standard_normal((n, 3, h, wide)).astype("float32")
        more = RNG.standard_normal((n, 5, h, wide)).astype("float32")
        view = np.lib.stride_tricks.sliding_window_view(
            np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3)
        )
        expected = np.einsum("ncyxij,ocij->noyx", view, w)
        given = [x, u, w]
        if epilogue:
            expected = np.maximum(expected + bias + more, 0)
            given += [bias, more]
        out = tvm.runtime.empty(expected.shape)
        run(*map(tvm.runtime.tensor, given), out)
        np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-4)
