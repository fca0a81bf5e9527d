"""Arrays for measurements, measurements, and rules out of tables."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.collage.collage import (
    arg_for,
    make_byoc_partition_rule,
    make_labelled_dfpattern_partition_rule_wrapper,
)
from tvm.relay.dataflow_pattern import is_op, wildcard

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("dtype", "wanted"), [("int32", [0, 0]), ("uint8", [0, 0]), ("bool", [True, True])]
)
def test_arrays_of_integers(dtype: str, wanted: list[object]) -> None:
    array = arg_for(relay.TensorType((2,), dtype), tvm.cpu())
    assert array.dtype == dtype
    assert array.numpy().tolist() == wanted


def test_arrays_of_floats_differ() -> None:
    array = arg_for(relay.TensorType((2, 8), "float32"), tvm.cpu()).numpy()
    assert array.shape == (2, 8)
    assert len(np.unique(array)) == 16


def test_no_array_of_a_tuple() -> None:
    with pytest.raises(AssertionError, match="no array"):
        arg_for(relay.TupleType([]), tvm.cpu())


def test_rules() -> None:
    pattern = is_op("nn.relu")(wildcard())
    rule = make_labelled_dfpattern_partition_rule_wrapper("mine", ("mine.relu", pattern))
    assert (rule.compiler, rule.label) == ("mine", "mine.relu")
    assert rule.check(None)
    with pytest.raises(AssertionError, match="No pattern table entry was found"):
        make_byoc_partition_rule("nobody")
    assert make_byoc_partition_rule("dnnl").sub_rules
