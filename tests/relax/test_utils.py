"""Tools around Relax programs."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tvm import relax
from tvm.relax import utils

pytestmark = pytest.mark.pure


def test_metadata_is_taken_apart() -> None:
    x = relax.Var("x", relax.TensorStructInfo((3,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.add(x, relax.const(np.ones(3, "float32")))))
    program, metadata = utils.metadata_partitioner(bb.get().script(show_meta=True))
    assert "def main" in program
    assert "relax.expr.Constant" in json.loads(metadata)["root"]["items"][0]
    with pytest.raises(ValueError, match="metadata was not found"):
        utils.metadata_partitioner("x = 1")


def test_names_are_the_functions_themselves() -> None:
    assert utils.convert_to_expr is relax.convert_to_expr
