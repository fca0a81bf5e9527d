"""Options of a wrong kind are refused by name, whichever operator takes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.relax.op.cases import info, var
from tvm import relax
from tvm.error import DTypeError, TVMError
from tvm.relax import Tuple, const, op

pytestmark = pytest.mark.pure
X, IMAGE, WEIGHT = var(2, 3), var(1, 3, 8, 8), var(4, 3, 3, 3)
NO_LIST: list[tuple[str, Callable[[Any], Any]]] = [
    ("axes", lambda v: op.sum(X, v)),
    ("axes", lambda v: op.expand_dims(X, v)),
    ("axes", lambda v: op.squeeze(X, v)),
    ("strides", lambda v: op.nn.conv2d(IMAGE, WEIGHT, strides=v)),
    ("pool_size", lambda v: op.nn.max_pool2d(IMAGE, v)),
    ("output_size", lambda v: op.nn.adaptive_avg_pool2d(IMAGE, v)),
    ("pad_width", lambda v: op.nn.pad(X, v)),
    ("out_sinfo", lambda v: op.call_dps_packed("f", X, v)),
    ("struct info of the results", lambda v: op.call_pure_packed("f", X, sinfo_args=v)),
    ("inplace_indices", lambda v: op.call_inplace_packed("f", X, inplace_indices=v, sinfo_args=[])),
    ("list of fields", lambda v: op.concat(v)),
    ("list of fields", lambda v: Tuple(v)),
]
NO_INTEGER: list[tuple[str, Callable[[Any], Any]]] = [
    ("groups", lambda v: op.nn.conv2d(IMAGE, WEIGHT, groups=v)),
    ("axis", lambda v: op.argmax(X, v)),
    ("axis", lambda v: op.topk(X, axis=v)),
    ("k is no integer", lambda v: op.topk(X, k=v)),
    ("batch_dims", lambda v: op.gather_nd(X, X, v)),
    ("num_groups", lambda v: op.nn.group_norm(IMAGE, X, X, v, 1, [2, 3])),
    ("channel_axis", lambda v: op.nn.instance_norm(IMAGE, X, X, v, [2, 3])),
    ("ignore_index", lambda v: op.nn.nll_loss(X, X, ignore_index=v)),
    ("upscale_factor", lambda v: op.nn.pixel_shuffle(IMAGE, v)),
    ("num_workers", lambda v: op.ccl.allgather(X, v)),
]
NO_NUMBER: list[tuple[str, Callable[[Any], Any]]] = [
    ("alpha", lambda v: op.nn.leakyrelu(X, v)),
    ("threshold", lambda v: op.nn.softplus(X, threshold=v)),
    ("rate", lambda v: op.nn.dropout(X, v)),
    ("scale", lambda v: op.nn.attention(IMAGE, IMAGE, IMAGE, scale=v)),
    ("roi", lambda v: op.image.resize2d(IMAGE, (4, 4), roi=[v] * 4)),
]


@pytest.mark.parametrize(("name", "call"), NO_LIST)
def test_a_number_with_a_fraction_is_no_list(name: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(DTypeError, match=name):
        call(math.nan)


@pytest.mark.parametrize("value", [1.5, "1", [1]])
@pytest.mark.parametrize(("name", "call"), NO_INTEGER)
def test_an_integer_is_asked_for(name: str, call: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(DTypeError, match=name):
        call(value)


@pytest.mark.parametrize("value", ["1", [1]])
@pytest.mark.parametrize(("name", "call"), NO_NUMBER)
def test_a_number_is_asked_for(name: str, call: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(DTypeError, match=name):
        call(value)


def test_operands_that_are_none_are_refused() -> None:
    with pytest.raises(TypeError):
        info(op.masked_fill(0, X, 1.0))
    with pytest.raises(TypeError):
        info(op.reshape(0, (1,)))
    with pytest.raises(DTypeError, match="no device"):
        op.hint_on_device(X, "cuda")
    with pytest.raises(DTypeError, match="subscripts"):
        op.einsum((X, X), const(1))  # type: ignore[arg-type]


def test_parameters_of_norms_agree_where_the_data_is_unknown() -> None:
    unknown = relax.Var("d", relax.TensorStructInfo(dtype="float32"))
    four, five, half = (
        relax.Var("p", relax.TensorStructInfo((n,), dtype))
        for n, dtype in ((4, "float32"), (5, "float32"), (4, "float16"))
    )
    assert info(op.nn.layer_norm(unknown, four, four, -1)).ndim == -1
    for gamma, beta in ((four, five), (half, four)):
        with pytest.raises(TVMError):
            info(op.nn.layer_norm(unknown, gamma, beta, -1))
        with pytest.raises(TVMError):
            info(op.nn.batch_norm(unknown, gamma, beta, four, four, axis=1))
    with pytest.raises(TVMError, match="dimension"):
        info(op.nn.rms_norm(unknown, four, [1, 2]))


def test_what_is_overwritten_stays_what_it_was() -> None:
    wider = relax.TensorStructInfo((2, 4), "float32")
    call = op.call_inplace_packed("f", X, inplace_indices=0, sinfo_args=wider)
    with pytest.raises(TVMError, match="in-place argument at index 0"):
        info(call)


def test_views_take_shapes_and_data_types() -> None:
    with pytest.raises(TypeError, match="must be a shape"):
        info(op.memory.view(X, X))
    with pytest.raises(TypeError, match="must be a data type"):
        info(op.memory.view(X, None, X))
