"""Constant tensors as the IR holds them: numpy memory that nobody writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm.ffi.object import Object
from tvm.support.digest import content_digest
from tvm.support.dtype import DataType

if TYPE_CHECKING:
    import numpy as np


class HostTensor(Object):
    """An immutable tensor in host memory; `numpy()` shares the memory.

    The IR uses it instead of a runtime tensor, so that programs with constants can be built,
    printed and folded where no runtime is installed.
    """

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        import numpy as np  # not at the top: the words of the IR load without numpy

        array = np.ascontiguousarray(array).reshape(np.shape(array))
        if array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        self._array = array

    def lie_in(self, memory: np.ndarray[Any, Any]) -> None:
        """Hold the same values in other bytes from now on; the memory so far is given up."""
        held = memory.view(self._array.dtype).reshape(self._array.shape)
        held.flags.writeable = False
        assert held.nbytes == self._array.nbytes, "as many bytes"
        self._array = held

    def digest(self) -> str:
        """A text that tells the bytes from others; type and shape do not count.

        Made anew each time, as whoever owns the memory may have written to it.
        """
        return content_digest(self.raw())

    def raw(self) -> memoryview:
        """The bytes, without a copy."""
        return self._array.reshape(-1).view("uint8").data

    def numpy(self) -> np.ndarray[Any, Any]:
        """The values; read-only."""
        return self._array

    @property
    def shape(self) -> tuple[int, ...]:
        """The extent of each dimension."""
        return tuple(self._array.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def dtype(self) -> DataType:
        """The data type of the elements."""
        return DataType(self._array.dtype)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._array.nbytes

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray[Any, Any]:
        return self._array.__array__(*args, **kwargs)

    def __dlpack__(self, **kwargs: Any) -> Any:
        # numpy refuses to export read-only memory; a copy is the safe answer
        return self._array.copy().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __repr__(self) -> str:
        return f"HostTensor({self.shape}, {self.dtype})"


def as_host_tensor(value: Any) -> HostTensor:
    """A host tensor of a numpy array, a Python number, or a runtime tensor (shared memory)."""
    import numpy as np  # see HostTensor.__init__

    if isinstance(value, HostTensor):
        return value
    if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
        value = value.numpy()
    return HostTensor(np.asarray(value))
