"""Constants in host memory: shared, and never written."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.ir import HostTensor
from tvm.ir.host_tensor import as_host_tensor

pytestmark = pytest.mark.pure


def test_shares_memory_and_is_read_only() -> None:
    array = np.arange(6, dtype="int16").reshape(2, 3)
    tensor = HostTensor(array)
    assert np.shares_memory(tensor.numpy(), array)
    assert array.flags.writeable  # the caller's own view stays as it was
    with pytest.raises(ValueError, match="read-only"):
        tensor.numpy()[0, 0] = 1
    assert (tensor.shape, tensor.ndim, tensor.dtype, tensor.nbytes) == ((2, 3), 2, "int16", 12)


def test_conversions() -> None:
    assert as_host_tensor(3.5).shape == ()
    tensor = as_host_tensor(np.float32(1))
    assert as_host_tensor(tensor) is tensor
    assert as_host_tensor(tvm.runtime.tensor(np.ones(3, "float32"))).numpy().tolist() == [1, 1, 1]
    assert np.asarray(tensor) == 1
    assert np.from_dlpack(HostTensor(np.ones(2))).tolist() == [1, 1]


def test_scalars_and_strided_arrays() -> None:
    assert HostTensor(np.float64(2)).shape == ()
    strided = HostTensor(np.arange(12).reshape(3, 4)[:, ::2])
    assert strided.numpy().flags.c_contiguous
