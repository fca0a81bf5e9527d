"""Operands whose shape is a variable: what operators see of its values."""

from __future__ import annotations

from typing import Any

import pytest

from tvm import relax, tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

KNOWN = relax.ShapeStructInfo([5, 7])
RANKED = relax.ShapeStructInfo(ndim=2)
UNKNOWN = relax.ShapeStructInfo()


def tensor(shape: Any, dtype: str = "float16") -> relax.Var:
    return relax.Var("t", relax.TensorStructInfo(shape, dtype))


def infer(call: relax.Expr) -> relax.TensorStructInfo:
    return relax.BlockBuilder().normalize(call).struct_info


PASSED_ON = {
    "full": lambda s: op.full(s, relax.const(1.0, "float16")),
    "full of a dtype": lambda s: op.full(s, relax.const(1.0, "float16"), "int8"),
    "ones": lambda s: op.ones(s, "int8"),
    "zeros": lambda s: op.zeros(s, "int8"),
    "broadcast_to": lambda s: op.broadcast_to(tensor((1,)), s),
    "relu": lambda s: op.nn.relu(tensor(s)),
    "relu6": lambda s: op.nn.relu6(tensor(s)),
    "astype": lambda s: op.astype(tensor(s), "float32"),
    "ones_like": lambda s: op.ones_like(tensor(s)),
    "add": lambda s: op.add(tensor(s), tensor(s)),
    "less": lambda s: op.less(tensor(s), tensor(s)),
    "where": lambda s: op.where(tensor(s, "bool"), tensor(s), tensor(s)),
    "ewise_fma": lambda s: op.ewise_fma(tensor(s), tensor(s), tensor(s)),
    "concat of one": lambda s: op.concat([tensor(s)], 1),
    "split in one": lambda s: op.split(tensor(s), 1),
    "split at nothing": lambda s: op.split(tensor(s), []),
    "squeeze nothing": lambda s: op.squeeze(tensor(s), []),
    "cumsum": lambda s: op.cumsum(tensor(s), 0),
    "sort": lambda s: op.sort(tensor(s)),
    "flip": lambda s: op.flip(tensor(s), 0),
}


@pytest.mark.parametrize("shape", [KNOWN, RANKED, UNKNOWN], ids=str)
@pytest.mark.parametrize("name", PASSED_ON)
def test_a_shape_that_is_passed_on_is_the_variable(name: str, shape: Any) -> None:
    s = relax.Var("s", shape)
    assert infer(PASSED_ON[name](s)).shape is s


COMPUTED = {
    "permute_dims": (lambda s: op.permute_dims(tensor(s)), 2),
    "expand_dims": (lambda s: op.expand_dims(tensor(s), [0]), 3),
    "concat": (lambda s: op.concat([tensor(s), tensor((5, 7))], 0), 2),
    "stack": (lambda s: op.stack([tensor(s), tensor(s)], 0), 3),
    "flatten": (lambda s: op.flatten(tensor(s)), 1),
    "repeat": (lambda s: op.repeat(tensor(s), 2, 0), 2),
    "tile": (lambda s: op.tile(tensor(s), (2, 2)), 2),
    "sum": (lambda s: op.sum(tensor(s), 1), 1),
    "take": (lambda s: op.take(tensor(s), tensor((3,), "int32"), 0), 2),
    "matmul": (lambda s: op.matmul(tensor(s), tensor((7, 2))), 2),
    "one_hot": (
        lambda s: op.one_hot(tensor(s, "int64"), relax.PrimValue(1), relax.PrimValue(0), 3), 3
    ),
    "resize2d": (lambda s: op.image.resize2d(tensor((1, 3, 8, 8)), s), 4),
}  # fmt: skip


@pytest.mark.parametrize("shape", [KNOWN, RANKED], ids=str)
@pytest.mark.parametrize("name", COMPUTED)
def test_extents_are_computed_of_written_ones_only(name: str, shape: Any) -> None:
    call, ndim = COMPUTED[name]
    found = infer(call(relax.Var("s", shape)))
    assert (found.shape, found.ndim) == (None, ndim)


def test_every_piece_is_of_known_rank_only() -> None:
    found = infer(op.split(tensor(relax.Var("s", KNOWN)), [2]))
    assert [(part.shape, part.ndim) for part in found.fields] == [(None, 2)] * 2


def test_some_operators_read_the_values() -> None:
    s = relax.Var("s", KNOWN)
    assert [int(e) for e in infer(op.reshape(tensor(s), (-1,))).values] == [35]
    assert [int(e) for e in infer(op.strided_slice(tensor(s), [0], [1], [3])).values] == [2, 7]
    turned = infer(op.layout_transform(tensor(s), lambda i, j: (j, i)))
    assert [int(e) for e in turned.values] == [7, 5]
    assert [int(e) for e in infer(op.add(tensor(s), tensor((7,)))).values] == [5, 7]


def test_squeeze_reads_which_extents_are_one() -> None:
    p = tir.Var("p", "int64")
    s = relax.Var("s", relax.ShapeStructInfo([p, 1]))
    assert infer(op.squeeze(tensor(s), [1])).ndim == 1
    assert infer(op.squeeze(tensor(s))).ndim == -1
    assert infer(op.squeeze(tensor(relax.Var("t", KNOWN)))).ndim == 2


def test_errors_are_found_through_the_values() -> None:
    s = relax.Var("s", KNOWN)
    for call in (
        lambda: op.squeeze(tensor(s), [0]),
        lambda: op.matmul(tensor(s), tensor(s)),
        lambda: op.concat([tensor(s), tensor((5, 8))], 0),
        lambda: op.broadcast_to(tensor((3, 7)), s),
    ):
        with pytest.raises(TVMError):
            infer(call())
