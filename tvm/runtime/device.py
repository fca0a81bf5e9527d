"""Devices, and what this process can run, by the module that scripts take them from."""

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "Device": "tvm.runtime._device:Device",
        "enabled": "tvm.runtime.module:enabled",
        "num_threads": "tvm.runtime.module:num_threads",
    },
)
