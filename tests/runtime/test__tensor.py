"""Tensors: made, copied, viewed, shared with numpy, of every type."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm.error import DTypeError, ShapeError, TVMError
from tvm.runtime import Tensor, empty, from_dlpack, tensor
from tvm.runtime._tensor import from_host, host_view, row_major_strides, unsafe_view
from tvm.support.dtype import DataType

pytestmark = pytest.mark.pure
DTYPES = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
          "float16", "float32", "float64", "bfloat16", "float8_e4m3fn", "float8_e5m2"]  # fmt: skip


def array_of(dtype: str) -> np.ndarray:
    kind = getattr(ml_dtypes, dtype) if hasattr(ml_dtypes, dtype) else dtype
    return (np.arange(6) % 3).reshape(2, 3).astype(kind)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_goes_in_and_comes_out(dtype: str) -> None:
    values = array_of(dtype)
    made = tensor(values)
    assert (str(made.dtype), tuple(made.shape), made.device.type) == (dtype, (2, 3), "cpu")
    np.testing.assert_array_equal(made.numpy(), values)
    shared = from_dlpack(values)
    assert str(shared.dtype) == dtype
    assert shared.data_ptr() == values.ctypes.data


def test_a_tensor_holds_a_copy_and_numpy_gives_one() -> None:
    values = np.zeros(3, "float32")
    made = tensor(values)
    values[0] = 1
    assert made.numpy()[0] == 0
    out = made.numpy()
    out[1] = 5
    assert made.numpy()[1] == 0


def test_numpy_shares_through_dlpack() -> None:
    made = tensor(np.zeros(3, "float32"))
    np.from_dlpack(made)[2] = 4
    assert made.numpy()[2] == 4


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (5,), 7])
def test_shapes(shape: object) -> None:
    made = empty(shape, "int32")
    expected = (shape,) if isinstance(shape, int) else shape
    assert tuple(made.shape) == expected
    assert made.numpy().shape == expected
    assert made.data_ptr() % 64 == 0 or 0 in expected


def test_python_values() -> None:
    assert str(tensor([1.5, 2.0]).dtype) == "float64"
    assert tensor(3).numpy() == 3
    made = empty((), "int32")
    assert made.copyfrom(7).numpy() == 7


def test_vector_types_show_their_lanes_as_a_dimension() -> None:
    made = empty((2, 3), "float32x4")
    assert (tuple(made.shape), str(made.dtype)) == ((2, 3), "float32x4")
    values = np.arange(24, dtype="float32").reshape(2, 3, 4)
    np.testing.assert_array_equal(made.copyfrom(values).numpy(), values)


def test_read_only_memory_is_shared() -> None:
    values = np.arange(4, dtype="float32")
    values.flags.writeable = False
    assert from_host(values).data_ptr() == values.ctypes.data


def test_views_keep_memory_alive() -> None:
    def make() -> np.ndarray:
        whole = from_dlpack(np.arange(100_000, dtype="float32"))
        return host_view(unsafe_view(whole, (10,), DataType("float32"), 40))

    view = make()
    gc.collect()
    np.testing.assert_array_equal(view, np.arange(10, 20))


def test_views_with_another_type_or_shape() -> None:
    made = tensor(np.arange(6, dtype="float32").reshape(2, 3))
    np.testing.assert_array_equal(made._create_view((3, 2)).numpy(), made.numpy().reshape(3, 2))
    bits = made._create_view((6,), "int32").numpy()
    np.testing.assert_array_equal(bits, made.numpy().reshape(-1).view("int32"))
    part = made._create_view((2,), "float32", 16)
    np.testing.assert_array_equal(part.numpy(), [4, 5])
    with pytest.raises(ShapeError, match=r"i_byte < 28\n.*only contains 24 b"):
        made._create_view((7,))


def test_copies_between_tensors() -> None:
    source = tensor(np.arange(4, dtype="int32"))
    target = empty((4,), "int32")
    assert source.copyto(target) is target
    np.testing.assert_array_equal(target.numpy(), source.numpy())
    other = source.copyto(tvm.cpu())
    other[:] = 9
    np.testing.assert_array_equal(other.numpy(), [9] * 4)
    np.testing.assert_array_equal(source.numpy(), np.arange(4))


def test_copies_between_shapes_of_equal_size_keep_the_order() -> None:
    source = tensor(np.arange(18, dtype="float32"))
    target = source.copyto(empty((3, 3, 2), "float32"))
    np.testing.assert_array_equal(target.numpy().reshape(-1), np.arange(18))


def test_copies_that_do_not_fit_are_refused() -> None:
    made = tensor(np.zeros((2, 2), "float32"))
    with pytest.raises(ShapeError) as caught:
        made.copyfrom(np.zeros(3))
    assert str(caught.value) == (
        "copyfrom: the shapes differ\n  found: source (3,), tensor (2, 2)\n"
        "  legal: an array of the tensor's shape"
    )
    with pytest.raises(ShapeError, match="copyto: the tensors differ in kind"):
        made.copyto(empty((2, 2), "float64"))
    with pytest.raises(ShapeError, match="copyto: the tensors differ in kind"):
        made.copyto(empty((5,), "float32"))
    with pytest.raises(ValueError, match="legal: a Tensor or a Device"):
        made.copyto(3)
    with pytest.raises(ValueError, match="assign to a part"):
        made[0] = 1


def test_bad_shapes_types_and_devices_are_refused() -> None:
    with pytest.raises(ShapeError, match="extents of 0 or more"):
        empty((2, -1))
    with pytest.raises(TypeError, match="a sequence of integers"):
        empty(None)  # type: ignore[arg-type]
    with pytest.raises(DTypeError, match="numpy has no such type"):
        empty((2,), "handle")
    with pytest.raises(TVMError, match="use of device cuda:0"):
        empty((2,), "float32", tvm.cuda())


def test_strided_tensors_show_their_values() -> None:
    values = np.arange(12, dtype="float32").reshape(3, 4).T
    made = tvm.ffi.from_dlpack(values)
    assert isinstance(made, Tensor)
    np.testing.assert_array_equal(made.numpy(), values)
    assert row_major_strides((2, 3, 4)) == (12, 4, 1)


def test_arrays_with_gaps_are_shared_as_they_are() -> None:
    values = np.arange(12, dtype="float32").reshape(3, 4)
    shared = from_dlpack(values[:, ::2])
    values[0, 0] = 7
    assert shared.numpy()[0, 0] == 7
    assert tuple(shared.strides) == (4, 2)
    assert not shared.is_contiguous()
    np.testing.assert_array_equal(np.from_dlpack(shared), values[:, ::2])


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_what_compiled_code_hands_over_shares_its_memory(target: str) -> None:
    from tvm.script import tir as T

    seen: list[object] = []

    def look(view: Tensor) -> None:
        seen.append((np.from_dlpack(view).tolist(), view.numpy().tolist(), tuple(view.shape)))
        np.from_dlpack(view)[0] = 5
        seen.append(view._create_view((2, 2)).numpy().tolist())

    tvm.register_global_func("testing.look", look, override=True)

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(i)
        T.evaluate(T.call_packed("testing.look", A))
        A[1] = A[0]

    out = tensor(np.zeros(4, "float32"))
    tvm.compile(main, target=target)["main"](out)
    assert seen == [([0, 1, 2, 3], [0, 1, 2, 3], (4,)), [[5, 1], [2, 3]]]
    np.testing.assert_array_equal(out.numpy(), [5, 5, 2, 3])


def test_host_devices_have_numbers() -> None:
    """Several CPU devices stand for several places of one memory."""
    made = empty((2, 3), "float32", tvm.cpu(1))
    assert made.device == tvm.cpu(1)
    copied = tensor(np.ones((2, 3), "float32"), tvm.cpu(2))
    assert copied.device == tvm.cpu(2)
    assert made.copyfrom(copied).numpy().tolist() == [[1] * 3] * 2
    assert copied.copyto(tvm.cpu(0)).device == tvm.cpu(0)
    assert unsafe_view(made, (6,), DataType("float32")).device == tvm.cpu(1)


@pytest.mark.parametrize(
    "dtype",
    ["float16", "bfloat16", "float32", "float64", "int8", "int32", "int64", "uint8", "uint16",
     "bool", "float8_e4m3fn", "float8_e5m2"],
)  # fmt: skip
def test_torch_shares_memory_both_ways(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.ones((2, 3)).to(getattr(torch, dtype))
    ours = from_dlpack(theirs)
    back = torch.from_dlpack(ours)
    assert ours.data_ptr() == theirs.data_ptr() == back.data_ptr()
    assert (str(ours.dtype), back.dtype) == (dtype, theirs.dtype)
    fresh = tensor(theirs)
    assert fresh.data_ptr() != theirs.data_ptr()
    np.testing.assert_array_equal(fresh.numpy(), ours.numpy())
    target = empty((2, 3), dtype).copyfrom(theirs)
    np.testing.assert_array_equal(target.numpy(), ours.numpy())
    assert torch.from_dlpack(target).data_ptr() == target.data_ptr()
    other = empty((2, 3), "float32").copyfrom(theirs)
    np.testing.assert_array_equal(other.numpy(), ours.numpy().astype("float32"))


def test_bytes_in_another_order_and_memory_that_stays_as_it_is() -> None:
    big = np.arange(4, dtype=">f4")
    for made in (tvm.runtime.tensor(big), tvm.runtime.from_dlpack(big)):
        assert made.numpy().tolist() == [0, 1, 2, 3]
    fixed = np.arange(4, dtype="float32")
    fixed.flags.writeable = False
    held = tvm.runtime.from_dlpack(fixed)
    held.copyfrom(np.full(4, 7, "float32"))
    assert fixed.tolist() == [0, 1, 2, 3]


def test_memory_that_cannot_be_had() -> None:
    with pytest.raises(MemoryError, match="no room for 4,611,686,018,427,387,904 bytes"):
        tvm.runtime.empty((1 << 30, 1 << 30), "float32")
    with pytest.raises(MemoryError, match="1099511627776 x 1099511627776 float32"):
        tvm.runtime.empty((1 << 40, 1 << 40), "float32")
    assert tvm.runtime.empty((2,), "float32").shape == (2,)
