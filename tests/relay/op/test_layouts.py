"""Layouts that calls ask for, and operators that know one only."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.op.test_numbers import array
from tests.relay.run import value_of
from tvm import relay
from tvm.error import DiagnosticError

pytestmark = pytest.mark.pure
nn = relay.nn
IMAGE = array(1, 2, 6, 7)


@pytest.mark.parametrize("rank", [1, 3])
def test_whole_axes_are_adaptive_pools(rank: int) -> None:
    image = relay.var("x", shape=(2, 3, *[4] * rank))
    for kind in ("max", "avg"):
        call = getattr(nn, f"global_{kind}_pool{rank}d")(image)
        assert call.op.name == f"nn.adaptive_{kind}_pool{rank}d"
        assert call.attrs.output_size == (1,) * rank


@pytest.mark.parametrize(
    "pool",
    [
        lambda x: nn.max_pool2d(x, (2, 2), (2, 2), out_layout="NHWC"),
        lambda x: nn.adaptive_avg_pool2d(x, (2, 2), out_layout="NHWC"),
        lambda x: nn.global_avg_pool2d(x, out_layout="NHWC"),
    ],
)
def test_pools_stay_in_the_layout_of_their_data(pool: Any) -> None:
    found, kind = value_of(pool, [IMAGE])
    assert found.shape == tuple(int(e) for e in kind.shape)


def test_convolutions_give_the_layout_that_is_asked_for() -> None:
    kernel = array(3, 2, 3, 3)
    plain, _ = value_of(lambda x, w: nn.conv2d(x, w, padding=1), [IMAGE, kernel])
    found, _ = value_of(lambda x, w: nn.conv2d(x, w, padding=1, out_layout="NHWC"), [IMAGE, kernel])
    np.testing.assert_allclose(found, plain.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-5)


def test_correlations_of_other_layouts_are_refused() -> None:
    images = [array(1, 8, 8, 3), array(1, 8, 8, 3)]
    with pytest.raises(tvm.TVMError, match=r"layout 'NHWC'\s+legal: 'NCHW'"):
        value_of(lambda x, y: nn.correlation(x, y, 1, 2, 1, 1, 2, True, "NHWC"), images)


def test_indices_are_integers() -> None:
    with pytest.raises(DiagnosticError, match="legal: integers"):
        value_of(relay.take, [array(4), array(2)])
