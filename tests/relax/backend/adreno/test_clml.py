from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.backend.cuda_programs import graph, op
from tvm import relax
from tvm.error import TVMError
from tvm.relax.backend import get_patterns_with_prefix
from tvm.relax.backend.adreno import clml
from tvm.relax.transform import FuseOpsByPattern, MergeCompositeFunctions

pytestmark = pytest.mark.pure


def composites(mod: Any) -> list[str]:
    table = clml.clml_pattern_table()
    text = MergeCompositeFunctions()(FuseOpsByPattern(table)(mod)).script()
    return sorted(line.split('"Composite": "')[1].split('"')[0] for line in text.splitlines()
                  if '"Composite": "' in line)  # fmt: skip


def const(*shape: int) -> relax.Constant:
    return relax.const(np.ones(shape, "float32"))


@pytest.mark.parametrize(
    ("steps", "name"),
    [
        ("", "nn.conv2d"), ("bias", "bias.nn.conv2d"), ("relu", "relu.nn.conv2d"),
        ("clip", "clip.nn.conv2d"), ("bias relu", "relu.bias.nn.conv2d"), ("pad", "pad.nn.conv2d"),
        ("bn relu", "relu.tuple.bn.nn.conv2d"), ("bias bn", "bn.bias.nn.conv2d"),
        ("pad bias bn relu", "relu.tuple.bn.bias.pad.nn.conv2d"),
        ("transpose bias", "bias.nn.conv2d_transpose"), ("var", "nn.conv2d"),
    ],
)  # fmt: skip
def test_the_longest_match_of_a_convolution(steps: str, name: str) -> None:
    def make(bb: relax.BlockBuilder, x: Any, bias: Any) -> Any:
        if "pad" in steps:
            x = bb.emit(op.nn.pad(x, [0, 0, 0, 0, 1, 1, 1, 1]))
        if "transpose" in steps:
            out = op.nn.conv2d_transpose(x, const(4, 4, 3, 3), kernel_layout="OIHW")
        else:
            out = op.nn.conv2d(x, const(4, 4, 3, 3))
        out = bb.emit(out)
        if "bias" in steps:
            out = bb.emit(op.add(out, const(1, 4, 1, 1)))
        if "var" in steps:
            out = bb.emit(op.add(out, bias))
        if "bn" in steps:
            norm = bb.emit(op.nn.batch_norm(out, *[const(4)] * 4, axis=1))
            out = bb.emit(relax.TupleGetItem(norm, 0))
        if "relu" in steps:
            out = bb.emit(op.nn.relu(out))
        return op.clip(out, 0, 6) if "clip" in steps else out

    mod = graph((1, 4, 8, 8), (1, 4, 1, 1), dtype="float32", make=make)
    assert composites(mod) == [f"openclml.{name}"]


@pytest.mark.parametrize(
    ("shapes", "dtype", "taken"),
    [
        ([(1, 8), (1, 8)], "float32", True), ([(1, 4, 8, 8)] * 2, "float16", True),
        ([(1, 8), (1, 8)], "int32", True), ([(1, 8), (1, 8)], "int64", False),
        ([(2, 8), (2, 8)], "float32", False), ([(1, 8), (1, 1)], "float32", False),
        ([(), ()], "float32", False),
    ],
)  # fmt: skip
def test_elementwise_operators_of_one_image(shapes: Any, dtype: str, taken: bool) -> None:
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        mod = graph(*shapes, dtype=dtype, make=lambda bb, a, b, n=name: getattr(op, n)(a, b))
        assert composites(mod) == [f"openclml.relax.{name}"] * taken


def test_operators_of_one_tensor() -> None:
    def found(make: Any) -> list[str]:
        return composites(graph((1, 4, 8, 8), dtype="float32", make=lambda bb, x: make(x)))

    assert found(op.nn.relu) == ["openclml.relax.nn.relu"]
    assert found(op.nn.softmax) == ["openclml.relax.nn.softmax"]
    assert found(lambda x: op.clip(x, 0, 6)) == ["openclml.relax.clip"]
    assert found(lambda x: op.nn.max_pool2d(x, (2, 2))) == ["openclml.nn.max_pool2d"]
    assert found(lambda x: op.nn.avg_pool2d(x, (2, 2))) == ["openclml.nn.avg_pool2d"]
    assert found(lambda x: op.mean(x, [2, 3])) == ["openclml.nn.global_avg_pool2d"]
    assert found(lambda x: op.mean(x, [1])) == []
    assert found(lambda x: op.reshape(x, (-1,))) == ["openclml.reshape"]


def test_a_batch_norm_ends_in_a_reshape() -> None:
    def make(bb: relax.BlockBuilder, x: Any) -> Any:
        return bb.emit(op.nn.batch_norm(x, *[const(4)] * 4, axis=1))[0]

    mod = graph((1, 4, 8, 8), dtype="float32", make=make)
    assert composites(mod) == []
    after = clml.AppendReshapeToBNRewriterPass()(mod)
    assert "R.reshape(" in after.script()
    assert composites(after) == ["openclml.nn.batch_norm"]


def test_the_table() -> None:
    names = [entry[0] for entry in clml.clml_pattern_table()]
    assert len(names) == 86
    assert names[0] == "openclml.clip.tuple.bn.bias.nn.conv2d_transpose"
    assert names[-1] == "openclml.reshape"
    assert names.index("openclml.relu.nn.conv2d") < names.index("openclml.nn.conv2d")


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
    assert {"openclml.nn.conv2d", "openclml.relax.add", "openclml.nn.batch_norm"} <= names
