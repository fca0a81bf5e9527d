"""Small questions of the importers, and the lines that nodes came from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.relax.frontend.torch.base_fx_graph_translator import (
    BaseFXGraphImporter,
    node_span,
    source_location,
    target_name,
)

pytest.importorskip("torch")


def _node(**fields: Any) -> Any:
    return SimpleNamespace(**{"name": "add", "target": "add", "meta": {}, **fields})


def test_shape_of() -> None:
    x = relax.Var("x", relax.TensorStructInfo((2, 3), "float32"))
    assert list(BaseFXGraphImporter.shape_of(x).values) == [2, 3]
    assert BaseFXGraphImporter.shape_of(np.zeros((4, 5))) == (4, 5)
    with pytest.raises(TypeError, match="a tensor"):
        BaseFXGraphImporter.shape_of(relax.Var("p", relax.PrimStructInfo("int64")))
    with pytest.raises(ValueError, match="found: int"):
        BaseFXGraphImporter.shape_of(3)


def test_the_users_line_is_the_last_outside_of_torch() -> None:
    import torch

    own = f'File "{torch.__path__[0]}/nn/modules/linear.py", line 5, in forward\n    return x'
    trace = f'File "/home/model.py", line 7, in forward\n    y = self.lin(x)\n  {own}'
    node = _node(meta={"stack_trace": trace})
    assert str(node_span(node)) == "/home/model.py:7:1"
    assert source_location(node) == "/home/model.py:7: y = self.lin(x)"


def test_without_a_trace_a_node_has_its_name() -> None:
    assert str(node_span(_node())) == "add:1:1"
    assert source_location(_node()) is None


def test_names_of_targets() -> None:
    assert target_name(_node()) == "add"
    assert target_name(_node(target=len)) == "len"


def test_the_map_of_converters() -> None:
    importer = BaseFXGraphImporter()
    assert {"relu", "conv2d", "softmax", "add"} <= set(importer.convert_map)
    assert importer.env == {}
