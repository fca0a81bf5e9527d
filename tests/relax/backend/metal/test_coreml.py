from __future__ import annotations

from typing import Any

import pytest

from tests.relax.backend.cuda_programs import graph, op
from tvm import relax
from tvm.error import TVMError
from tvm.relax.backend import get_patterns_with_prefix
from tvm.relax.backend.metal.coreml import coreml_compiler, partition_for_coreml
from tvm.relax.transform import RunCodegen

pytestmark = pytest.mark.pure


def test_what_is_taken() -> None:
    def make(bb: relax.BlockBuilder, x: Any, y: Any) -> Any:
        low = bb.emit(op.clip(bb.emit(op.matmul(x, y)), 0, 6))
        return op.nn.softmax(bb.emit(op.exp(low)))

    text = partition_for_coreml(graph((8, 8), (8, 8), dtype="float32", make=make)).script()
    for name in ("matmul", "clip", "nn.softmax"):
        assert f'"Composite": "coreml.{name}"' in text
    assert "coreml.exp" not in text
    assert '"Codegen": "coreml"' in text


def test_without_the_code_generator() -> None:
    mod = graph((4,), dtype="float32", make=lambda bb, x: op.nn.relu(x))
    with pytest.raises(TVMError, match=r"relax\.ext\.coreml"):
        RunCodegen()(partition_for_coreml(mod))
    with pytest.raises(TVMError, match=r"missing: .*a run time for Core ML"):
        coreml_compiler([], {}, {})


def test_names() -> None:
    found = {pattern.name for pattern in get_patterns_with_prefix("coreml")}
    assert {"coreml.add", "coreml.multiply", "coreml.nn.conv2d", "coreml.clip"} <= found
