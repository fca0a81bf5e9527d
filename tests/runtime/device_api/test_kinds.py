"""Who drives a kind of device, and what is said where nobody does."""

from __future__ import annotations

import pytest

import tvm
from tvm.error import TVMError
from tvm.runtime.device_api import kinds
from tvm.runtime.device_api.api import MissingLibrary

pytestmark = pytest.mark.pure


def test_a_kind_that_nobody_drives() -> None:
    assert not tvm.device("hexagon", 0).exist
    assert kinds.find_api("hexagon") is None
    with pytest.raises(TVMError, match="nothing here drives devices of kind hexagon"):
        tvm.runtime.empty((2,), "float32", tvm.device("hexagon", 0))


def test_the_extra_that_brings_the_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise MissingLibrary("pyopencl is not installed")

    monkeypatch.setattr("tvm.runtime.device_api.opencl.OpenCLAPI", absent)
    kinds._started.cache_clear()
    try:
        assert not tvm.opencl(0).exist
        with pytest.raises(TVMError, match=r"pip install 'tvm-py\[opencl\]' brings it"):
            tvm.runtime.empty((2,), "float32", tvm.opencl(0))
    finally:
        kinds._started.cache_clear()


def test_a_number_that_no_device_has() -> None:
    assert not tvm.opencl(99).exist
    assert tvm.opencl(99).device_name is None
    with pytest.raises(TVMError, match="use of device opencl:99"):
        tvm.runtime.empty((2,), "float32", tvm.opencl(99))
