"""Values as bytes."""

from __future__ import annotations

import io

import numpy as np
import pytest

import tvm
from tvm.ffi import library
from tvm.runtime import wire
from tvm.runtime.wire import Ref, WireError, decode, encode

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(
    "value",
    [
        None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**70, 1.5, float("inf"), "", "grüße",
        b"\0\xff", [], [1, [2.5, None]], {"a": 1, 2: ["b"]}, Ref(7, "module"),
    ],
)  # fmt: skip
def test_plain_values_come_back(value: object) -> None:
    back = decode(encode(value))
    assert back == value
    assert type(back) is type(value)


def test_values_of_the_runtime_come_back() -> None:
    assert decode(encode(tvm.cuda(3))) == tvm.cuda(3)
    assert decode(encode(tvm.DataType("int8x4"))) == "int8x4"
    assert tuple(decode(encode(library().Shape([1, 2, 3])))) == (1, 2, 3)
    assert decode(encode(np.float32(0.5))) == 0.5
    assert decode(encode(tvm.runtime.convert([1, 2]))) == [1, 2]
    for dtype, shape in (("float32", (2, 3)), ("bfloat16", ()), ("int8", (0, 4)), ("bool", (3,))):
        sent = tvm.runtime.tensor(np.ones(shape).astype(tvm.runtime._tensor.numpy_dtype(dtype)))
        back = decode(encode(sent))
        assert (str(back.dtype), tuple(back.shape)) == (dtype, shape)
        np.testing.assert_array_equal(back.numpy(), sent.numpy())
    vectors = tvm.runtime.empty((2,), "float32x4").copyfrom(np.arange(8.0).reshape(2, 4))
    np.testing.assert_array_equal(decode(encode(vectors)).numpy(), vectors.numpy())


def test_other_objects_go_by_number() -> None:
    kept = [object()]
    data = encode([1, kept[0]], lambda value: Ref(kept.index(value), "object"))
    assert decode(data) == [1, Ref(0, "object")]
    assert decode(data, lambda ref: kept[ref.number]) == [1, kept[0]]
    with pytest.raises(TypeError, match="found: a object"):
        encode(object())


@pytest.mark.parametrize(
    "data",
    [
        b"", b"?", b"i\x01", b"NN", b"l\xff\xff\xff\xff\xff\xff\xff\x7f", b"s\x05\0\0\0\0\0\0\0ab",
        b"l\x01\0\0\0\0\0\0\0" * 100 + b"N",
        b"t" + encode("float32")[1:] + b"\x01\0\0\0\0\0\0\0" + b"\x05" + b"\0" * 7 + b"\0" * 8,
    ],
)  # fmt: skip
def test_broken_messages_are_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        decode(data)


def test_errors_keep_their_kind() -> None:
    assert isinstance(wire.error_of(wire.error_parts(ValueError("x")), "there"), ValueError)
    found = wire.error_of(wire.error_parts(tvm.error.ShapeError("x")), "there")
    assert isinstance(found, tvm.error.ShapeError)
    assert str(found) == "x\n  where: there"
    assert str(wire.error_of(["Strange", "x"], "there")) == "Strange: x\n  where: there"


def test_frames() -> None:
    pipe = io.BytesIO()
    wire.write_frame(pipe, b"abc")
    wire.write_frame(pipe, b"")
    pipe.seek(0)
    assert [wire.read_frame(pipe) for _ in range(3)] == [b"abc", b"", None]
    pipe.seek(0)
    with pytest.raises(WireError, match="more than 2"):
        wire.read_frame(pipe, most=2)
    assert wire.read_frame(io.BytesIO(b"\x05\0\0\0\0\0\0\0ab")) is None
