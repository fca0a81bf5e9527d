"""What all kinds have in common, on a kind whose memory is that of this process."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from tvm.error import TVMError
from tvm.runtime.attributes import DeviceAttr
from tvm.runtime.device_api.addresses import ADDRESSES
from tvm.runtime.device_api.api import DeviceAPI, _rounded, launch_extents, split_arguments
from tvm.runtime.device_module import DeviceModule
from tvm.support.kernel_info import KernelInfo

pytestmark = pytest.mark.pure


class Memory(DeviceAPI):
    """Bytes; so many are there, on the device that their number says."""

    kind: ClassVar[str] = "vpi"
    total = 1 << 20

    def __init__(self) -> None:
        super().__init__()
        self.held = 0
        self.launched: list[Any] = []

    def count(self) -> int:
        return 1

    def attribute(self, index: int, attr: DeviceAttr) -> Any:
        return self.total if attr is DeviceAttr.TOTAL_GLOBAL_MEMORY else None

    def allocate(self, index: int, nbytes: int) -> int:
        if self.held + nbytes > self.total:
            raise MemoryError
        self.held += nbytes
        return ADDRESSES.assign(bytearray(nbytes))

    def release(self, index: int, address: int) -> None:
        self.held -= len(ADDRESSES.forget(address))

    def write(self, index: int, address: int, data: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        buffer[offset : offset + len(data)] = data

    def read(self, index: int, address: int, into: memoryview) -> None:
        buffer, offset = ADDRESSES.find(address)
        into[:] = buffer[offset : offset + len(into)]

    def copy(self, index: int, source: int, target: int, nbytes: int) -> None:
        data = bytearray(nbytes)
        self.read(index, source, memoryview(data))
        self.write(index, target, memoryview(data))

    def kernel(self, index: int, module: Any, name: str) -> Any:
        return lambda args, extents: self.launched.append((index, args, extents["threadIdx.x"]))

    def device_of(self, address: int) -> int:
        return len(ADDRESSES.find(address)[0]) % 7

    def sync(self, index: int, stream: int) -> None:
        pass


def test_memory_comes_from_the_pool_and_goes_back() -> None:
    api = Memory()
    first, size = api.take(0, 1000)
    assert size >= 1000
    assert api.memory_in_use(0) == size
    api.give(0, first, size)
    assert api.memory_in_use(0) == 0
    again, _ = api.take(0, size)
    assert again == first  # the same memory
    assert api.held == size


def test_the_pool_is_emptied_before_memory_is_refused() -> None:
    api = Memory()
    for nbytes in (64 << 10, 128 << 10):
        api.give(0, *api.take(0, nbytes))
    address, size = api.take(0, 1 << 20)  # all there is
    assert api.held == size == 1 << 20
    with pytest.raises(MemoryError):
        api.take(0, 1)
    api.give(0, address, size)  # too much to wait in the pool
    assert api.held == 0


def test_sizes_that_are_near_share_memory() -> None:
    for nbytes in (1, 255, 256, 257, 1000, 4097, 100_000, 1 << 30):
        assert nbytes <= _rounded(nbytes) <= max(256, nbytes * 9 // 8 + 256)
        assert _rounded(_rounded(nbytes)) == _rounded(nbytes)


def test_streams_that_are_not_there() -> None:
    api = Memory()
    assert api.create_stream(0) == 0
    api.set_stream(0, 0)
    with pytest.raises(TVMError, match="0x7, no stream of it"):
        api.set_stream(0, 7)


def test_launches_say_what_is_wrong() -> None:
    args, extents = split_arguments("f", ("handle", "int32"), ("blockIdx.x",), (1, 2, 30))
    assert list(args) == [1, 2]
    assert extents["blockIdx.x"] == 30
    assert extents["threadIdx.z"] == 1
    with pytest.raises(TVMError, match="found: 2 values"):
        split_arguments("f", ("handle", "int32"), ("blockIdx.x",), (1, 2))
    with pytest.raises(TVMError, match=r"launch parameters cluster\.x"):
        launch_extents("f", ("cluster.x",), (1,))


def test_a_launch_goes_to_the_device_that_its_memory_is_on() -> None:
    api = Memory()
    info = KernelInfo(("int32", "handle", "handle"), ("threadIdx.x",))
    launch = api.launcher(DeviceModule("vpi", "c", "", {"f": info}), "f")
    there, here = (ADDRESSES.assign(bytearray(size)) for size in (3, 7))
    launch(5, there, here, 32)
    launch(5, 0, there, 16)
    launch(5, 0, 0, 8)  # no memory: the first device
    launch(5, there, here, 0)  # no threads, no launch
    assert [(index, extent) for index, _, extent in api.launched] == [(3, 32), (3, 16), (0, 8)]
    assert list(api.launched[0][1]) == [5, there, here]


def test_tensors_of_a_device_live_as_long_as_they_are_used() -> None:
    from tvm.runtime import Device

    api = Memory()
    tensor = api.empty(Device("vpi"), (3, 4), "float32")
    assert tuple(tensor.shape) == (3, 4)
    assert tensor.device == Device("vpi")
    view = tensor._create_view((4,), "float32", 16)
    assert view.data_ptr() == tensor.data_ptr() + 16
    used = api.memory_in_use(0)
    del tensor
    assert api.memory_in_use(0) == used  # the view holds it
    del view
    assert api.memory_in_use(0) == 0


def test_copies_between_the_host_and_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    import tvm
    from tvm.runtime.device_api import kinds

    api = Memory()
    monkeypatch.setattr(kinds, "_started", lambda kind: api)
    place = tvm.runtime.Device("vpi")
    values = np.arange(12, dtype="float32").reshape(3, 4)
    tensor = tvm.runtime.tensor(values, place)
    np.testing.assert_array_equal(tensor.numpy(), values)
    np.testing.assert_array_equal(tensor.copyto(place).numpy(), values)
    np.testing.assert_array_equal(tensor._create_view((4,), "float32", 16).numpy(), values[1])
    empty = tvm.runtime.empty((0, 4), "float32", place)
    assert empty.numpy().shape == (0, 4)
    with pytest.raises(MemoryError, match="memory for a tensor of 1024 x 1024 float32"):
        tvm.runtime.empty((1024, 1024), "float32", place)
