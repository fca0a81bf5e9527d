"""LowerGlobalViewToLocalView: each worker calls kernels with its own pieces."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.relax.distributed import DeviceMesh, DTensorStructInfo, Placement
from tvm.relax.distributed.transform import LowerGlobalViewToLocalView
from tvm.tir import interp

from .programs import Local, Placed

pytestmark = pytest.mark.pure


def test_kernels_on_pieces() -> None:
    after = LowerGlobalViewToLocalView()(Placed)
    tvm.ir.assert_structural_equal(after, Local)
    assert relax.analysis.well_formed(after)


def test_the_pieces_make_the_whole() -> None:
    after = LowerGlobalViewToLocalView()(Placed)
    rng = np.random.default_rng(0)
    x, w1, w2 = (rng.uniform(-1, 1, (8, 8)).astype("float32") for _ in range(3))
    total = np.zeros((8, 8), "float32")
    for worker in range(2):
        mine = slice(4 * worker, 4 * worker + 4)
        a, c = np.zeros((8, 4), "float32"), np.zeros((8, 8), "float32")
        interp.run(after, x, np.ascontiguousarray(w1[:, mine]), a, name="matmul1")
        interp.run(after, a, np.ascontiguousarray(w2[mine]), c, name="matmul2")
        total += c
    np.testing.assert_allclose(total, x @ w1 @ w2, rtol=1e-4, atol=1e-5)


def call_of_a_product(mesh: DeviceMesh, x: str, w: str, out: str) -> tvm.IRModule:
    info = relax.TensorStructInfo((8, 8), "float32")
    infos = [DTensorStructInfo(info, mesh, Placement.from_text(p)) for p in (x, w, out)]
    params = [relax.Var(name, one) for name, one in zip("xw", infos)]
    bb = relax.BlockBuilder(tvm.IRModule({"matmul": Placed["matmul"]}))
    kernel = bb.get().get_global_var("matmul")
    with bb.function("main", params):
        bb.emit_func_output(bb.emit(relax.op.call_tir(kernel, params, infos[-1])))
    return bb.get()


def test_pieces_that_do_not_meet_are_refused() -> None:
    line = DeviceMesh((2,), [0, 1])
    for text in ("S[1] R R", "R S[1] R", "R R S[0]", "S[0] R S[1]"):
        with pytest.raises(TVMError, match="as many pieces"):
            LowerGlobalViewToLocalView()(call_of_a_product(line, *text.split()))
    LowerGlobalViewToLocalView()(call_of_a_product(line, "S[0]", "R", "S[0]"))


def test_parts_on_a_mesh_of_two_dimensions_are_refused() -> None:
    square = DeviceMesh((2, 2), [0, 1, 2, 3])
    with pytest.raises(TVMError, match="allreduce goes over all workers"):
        LowerGlobalViewToLocalView()(call_of_a_product(square, "S[1], R", "S[0], R", "R, R"))
    LowerGlobalViewToLocalView()(call_of_a_product(square, "S[0], R", "R, S[1]", "S[0], S[1]"))
