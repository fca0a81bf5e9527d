from __future__ import annotations

from typing import Any

import pytest

from tests.relax.backend.cuda_programs import graph, op
from tvm import relax
from tvm.error import TVMError
from tvm.relax.backend import get_patterns_with_prefix
from tvm.relax.backend.adreno import clml
from tvm.relax.transform import FuseOpsByPattern, MergeCompositeFunctions

pytestmark = pytest.mark.pure


def composites(mod: Any) -> list[str]:
    table = clml.clml_pattern_table()[::-1]
    text = MergeCompositeFunctions()(FuseOpsByPattern(table)(mod)).script()
    return sorted(line.split('"Composite": "')[1].split('"')[0] for line in text.splitlines()
                  if '"Composite": "' in line)  # fmt: skip


def test_the_longest_match_of_a_convolution() -> None:
    def make(bb: relax.BlockBuilder, x: Any, w: Any, b: Any) -> Any:
        return op.nn.relu(bb.emit(op.add(bb.emit(op.nn.conv2d(x, w)), b)))

    shapes = (1, 4, 8, 8), (8, 4, 3, 3), (1, 8, 1, 1)
    assert composites(graph(*shapes, make=make)) == ["openclml.nn.conv2d_bias_relu"]
    assert composites(graph(*shapes, dtype="int32", make=make)) == []


def test_a_batch_norm_ends_in_a_reshape() -> None:
    def make(bb: relax.BlockBuilder, x: Any, *rest: Any) -> Any:
        return bb.emit(op.nn.batch_norm(x, *rest, axis=1))[0]

    mod = graph((1, 4, 8, 8), *[(4,)] * 4, dtype="float32", make=make)
    assert composites(mod) == []
    after = clml.AppendReshapeToBNRewriterPass()(mod)
    assert "R.reshape(" in after.script()
    assert composites(after) == ["openclml.nn.batch_norm"]


def test_layouts_become_the_librarys() -> None:
    def make(bb: relax.BlockBuilder, x: Any, w: Any) -> Any:
        return op.nn.conv2d(x, w, data_layout="NHWC", kernel_layout="OHWI")

    mod = graph((1, 8, 8, 4), (8, 3, 3, 4), dtype="float32", make=make)
    assert composites(mod) == []
    with pytest.raises(TVMError, match=r"relax\.ext\.openclml"):
        clml.OpenCLMLOffLoad()(mod)


def test_without_the_library() -> None:
    assert clml.clml_sdk_version() == 2
    assert not clml.is_clml_runtime_enabled()
    names = {pattern.name for pattern in get_patterns_with_prefix("openclml")}
    assert {"openclml.nn.conv2d", "openclml.matmul", "openclml.nn.batch_norm"} <= names
