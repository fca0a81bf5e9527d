"""Odd cases of normalisations."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_batch_norm_gives_statistics_too() -> None:
    found = info(op.nn.batch_norm(var(N, 4, 5), *[var(4)] * 4, axis=1))
    assert isinstance(found, relax.TupleStructInfo)
    assert [shape_of(field) for field in found.fields] == [(N, 4, 5), (4,), (4,)]


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.nn.batch_norm(var(2, 4), *[var(3)] * 4, axis=1), "gamma does not fit data"),
        (lambda: op.nn.batch_norm(var(2, 4), *[var(4)] * 4, axis=2), "axis is out of range"),
        (lambda: op.nn.layer_norm(var(2, 4), var(4, 1), var(4), axes=-1), "gamma must have 1"),
        (lambda: op.nn.layer_norm(var(2, 4), var(4), var(4, dtype="float16"), axes=-1),
         "data types of data and beta"),
        (lambda: op.nn.layer_norm(*[var(4, dtype="int32")] * 3, axes=-1), "must have a float"),
        (lambda: op.nn.group_norm(var(2, 4, 5), var(4), var(4), 3, 1, [2]),
         "no multiple of num_groups"),
        (lambda: op.nn.group_norm(var(2, 4, 5), var(4), var(4), 2, 1, [1]),
         "axes must not name the channel axis"),
        (lambda: op.nn.instance_norm(var(2, 4, 5), var(5), var(4), 1, [2]), "gamma does not fit"),
        (lambda: op.nn.rms_norm(var(2, 4), var(5)), "weight does not fit data"),
    ],
)  # fmt: skip
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


C1, C2 = tir.Var("c1", "int64"), tir.Var("c2", "int64")


def test_channels_that_may_differ_leave_no_shape() -> None:
    one, two = var(C1), var(C2)
    found = info(op.nn.batch_norm(var(2, C1, 4), two, two, two, two, 1)).fields
    assert [(f.shape, f.ndim) for f in found] == [(None, 3), (None, 1), (None, 1)]
    for call in (
        lambda gamma: op.nn.layer_norm(var(2, C1), gamma, one, axes=[-1]),
        lambda gamma: op.nn.rms_norm(var(2, C1), gamma, axes=[-1]),
    ):
        assert (info(call(two)).shape, info(call(two)).ndim) == (None, 2)
        assert info(call(one)).values[1] is C1


def test_norms_over_groups_have_the_shape_of_their_data() -> None:
    data, gamma = var(2, C1, 4), var(C2)
    for call in (
        op.nn.group_norm(data, gamma, gamma, 1, 1, [2]),
        op.nn.instance_norm(data, gamma, gamma, 1, [2]),
    ):
        assert info(call).values[1] is C1
