"""Exchange between workers."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import InternalError, TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def legalised(call: relax.Call) -> relax.Call:
    bb = relax.BlockBuilder()
    with bb.testing_scope([N]):
        return bb.normalize(call.op.get_attr("FLegalize")(bb, bb.normalize(call)))


def test_shapes() -> None:
    assert shape_of(op.ccl.allreduce(var(N, 4))) == (N, 4)
    gathered = shape_of(op.ccl.allgather(var(N, 4), 2))
    assert tir.interp.evaluate(gathered[0], {N: 3}) == 6
    assert shape_of(op.ccl.scatter_from_worker0(var(4, 6), 2, axis=1)) == (4, 3)
    (piece,) = shape_of(op.ccl.scatter_from_worker0(var(N), 2))
    assert isinstance(piece, tir.Div)
    assert shape_of(op.ccl.broadcast_from_worker0(var(4))) == (4,)


def test_legalised_to_runtime_functions() -> None:
    names = {
        "runtime.disco.allreduce": op.ccl.allreduce(var(2, 4), "max"),
        "runtime.disco.allgather": op.ccl.allgather(var(2, 4), 2),
        "runtime.disco.broadcast_from_worker0": op.ccl.broadcast_from_worker0(var(2)),
        "runtime.disco.scatter_from_worker0": op.ccl.scatter_from_worker0(var(4, 6), 2, 1),
    }
    for name, call in names.items():
        found = legalised(call)
        assert found.args[0].global_symbol == name
        relax_info = info(call)
        assert shape_of(found.struct_info) == shape_of(relax_info)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="legal: sum, prod, min, max, avg"):
        op.ccl.allreduce(var(2), "median")
    with pytest.raises(TVMError, match="no multiple of the number of workers"):
        info(op.ccl.scatter_from_worker0(var(5), 2))
    with pytest.raises(InternalError, match="should have defined shape"):
        info(op.ccl.scatter_from_worker0(relax.Var("x", relax.TensorStructInfo(ndim=2)), 2))
