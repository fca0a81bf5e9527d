"""Object, containers and the global function registry (over the tvm-ffi library)."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .library import library
from .object import Object
from .registry import (
    get_global_func,
    list_global_func_names,
    register_global_func,
    remove_global_func,
)

if TYPE_CHECKING:
    from tvm_ffi import (
        Array,
        Device,
        DLDeviceType,
        Function,
        List,
        Map,
        Shape,
        convert,
        device,
        dtype,
        from_dlpack,
    )

# These come from tvm_ffi itself, which is loaded when one of them is first touched.
_FROM_LIBRARY = frozenset(
    {
        "Array", "Device", "Dict", "DLDeviceType", "Function", "List", "Map", "ObjectConvertible",
        "Shape", "access_path", "convert", "convert_func", "device", "dtype", "error",
        "from_dlpack", "init_ffi_api", "register_error", "register_object", "registry",
        "serialization", "system_lib", "use_raw_stream", "use_torch_stream", "core",
    }
)  # fmt: skip
# Ours, which live a floor above; also by the names of earlier releases.
_FROM_RUNTIME = {
    "Bytes": "tvm_ffi.core:Bytes",
    "DataTypeCode": "tvm.support.dtype:DataTypeCode",
    "Module": "tvm.runtime:Module",
    "NDArray": "tvm.runtime:Tensor",
    "ObjectGeneric": "tvm.runtime.object_generic:ObjectGeneric",
    "String": "tvm.runtime.container:String",
    "Tensor": "tvm.runtime:Tensor",
    "container": "tvm_ffi.container",
    "ndarray": "tvm.runtime.ndarray",
    "register_func": "tvm.ffi.registry:register_global_func",
    **{
        name: f"tvm.runtime:{name}"
        for name in (
            "cpu", "cuda", "ext_dev", "hexagon", "metal", "opencl", "rocm", "vpi", "vulkan",
            "webgpu",
        )
    },
}  # fmt: skip

__all__ = [
    "Object",
    "get_global_func",
    "library",
    "list_global_func_names",
    "register_global_func",
    "remove_global_func",
]


def __getattr__(name: str) -> Any:
    home = _FROM_RUNTIME.get(name)
    if home is not None:
        module, _, attribute = home.partition(":")
        found = importlib.import_module(module)
        return getattr(found, attribute) if attribute else found
    if name not in _FROM_LIBRARY:
        raise AttributeError(f"module 'tvm.ffi' has no attribute {name!r}")
    value = getattr(library(), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FROM_LIBRARY, *_FROM_RUNTIME})
