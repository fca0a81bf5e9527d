from __future__ import annotations

from typing import Any

import pytest

from tests.relax.backend.cuda_programs import graph, op, taken
from tvm import relax
from tvm.relax.backend.cuda.cudnn import partition_for_cudnn

pytestmark = pytest.mark.pure


def convolution(data: str, kernel: str, bias: bool = False, relu: bool = False) -> Any:
    def make(bb: relax.BlockBuilder, x: Any, w: Any, *rest: Any) -> Any:
        out = bb.emit(op.nn.conv2d(x, w, padding=1, data_layout=data, kernel_layout=kernel))
        if bias:
            out = bb.emit(op.add(out, rest[0]))
        return op.nn.relu(out) if relu else op.negative(out)

    return make


@pytest.mark.parametrize(("bias", "relu", "name"), [
    (False, False, "nhwc_ohwi"), (True, False, "nhwc_ohwi_bias"),
    (True, True, "nhwc_ohwi_bias_relu"),
])  # fmt: skip
def test_convolutions(bias: bool, relu: bool, name: str) -> None:
    shapes = (1, 8, 8, 4), (16, 3, 3, 4), (1, 1, 1, 16)
    mod = graph(*shapes, make=convolution("NHWC", "OHWI", bias, relu))
    assert taken(partition_for_cudnn(mod)) == [f"cudnn.conv2d.{name}"]


def test_formats_and_types() -> None:
    shapes = (1, 4, 8, 8), (16, 4, 3, 3)
    assert taken(partition_for_cudnn(graph(*shapes, make=convolution("NCHW", "OIHW"))))
    other = graph((1, 4, 8, 8), (4, 3, 3, 16), make=convolution("NCHW", "IHWO"))
    assert taken(partition_for_cudnn(other)) == []
    wide = graph(*shapes, dtype="float64", make=convolution("NCHW", "OIHW"))
    assert taken(partition_for_cudnn(wide)) == []


def attention(axis: int) -> Any:
    def make(bb: relax.BlockBuilder, qkv: Any) -> Any:
        parts = bb.emit(op.split(qkv, 3, axis=axis))
        three = [
            bb.emit(op.reshape(bb.emit(relax.TupleGetItem(parts, n)), (2, 8, 4, 64)))
            for n in range(3)
        ]
        return op.nn.attention(*three)

    return make


def test_attention_has_memory_of_its_own() -> None:
    mod = partition_for_cudnn(graph((2, 8, 768), make=attention(2)))
    assert taken(mod) == ["cudnn.attention.BS3NH"]
    text = mod.script()
    assert "WorkspaceSize" not in text  # it is a parameter now
    assert "workspace_main: R.Tensor((8192,), dtype=\"uint8\") = R.builtin.alloc_tensor(" in text


def test_split_along_another_dimension() -> None:
    assert taken(partition_for_cudnn(graph((2, 24, 256), make=attention(1)))) == []
