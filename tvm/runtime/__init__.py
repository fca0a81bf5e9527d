"""What runs compiled programs: tensors, devices, modules, the virtual machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm.ffi.object import Object
from tvm.support.lazy import lazy_dir, lazy_names

_HOMES = {
    "BenchmarkResult": "tvm.runtime.benchmark:BenchmarkResult",
    "Executable": "tvm.runtime.executable:Executable",
    "Module": "tvm.runtime.module:Module",
    "NDArray": "tvm.runtime.ndarray:NDArray",  # of tensors, as scripts for Relay ask
    "Tensor": "tvm.runtime._tensor:Tensor",
    "Device": "tvm.runtime._device:Device",
    "DataType": "tvm.support.dtype:DataType",
    "DataTypeCode": "tvm.support.dtype:DataTypeCode",
    "ObjectConvertible": "tvm.ffi:ObjectConvertible",
    "PackedFunc": "tvm.runtime.conversion:PackedFunc",
    "Report": "tvm.runtime.profiling:Report",
    "Scriptable": "tvm.runtime.script_printer:Scriptable",
    "ShapeTuple": "tvm.runtime.conversion:ShapeTuple",
    "String": "tvm.runtime.conversion:String",
    "VirtualMachine": "tvm.runtime.vm:VirtualMachine",
    "const": "tvm.tir.op.arith:const",
    "convert": "tvm.runtime.conversion:convert",
    "convert_to_object": "tvm.runtime.conversion:convert",
    "derived_object": "tvm.runtime.support:derived_object",
    "device": "tvm.runtime._device:device",
    "empty": "tvm.runtime._tensor:empty",
    "enabled": "tvm.runtime.module:enabled",
    "from_dlpack": "tvm.runtime._tensor:from_dlpack",
    "load_module": "tvm.runtime.module:load_module",
    "load_param_dict": "tvm.runtime.params:load_param_dict",
    "load_param_dict_from_file": "tvm.runtime.params:load_param_dict_from_file",
    "load_static_library": "tvm.runtime.module:load_static_library",
    "num_threads": "tvm.runtime.module:num_threads",
    "save_param_dict": "tvm.runtime.params:save_param_dict",
    "save_param_dict_to_file": "tvm.runtime.params:save_param_dict_to_file",
    "time_limit": "tvm.runtime.interruption:time_limit",
    "system_lib": "tvm.runtime.module:system_lib",
    "tensor": "tvm.runtime._tensor:tensor",
    **{
        kind: f"tvm.runtime._device:{kind}"
        for kind in (
            "cpu", "cuda", "rocm", "opencl", "metal", "vpi", "vulkan", "ext_dev", "hexagon",
            "webgpu",
        )
    },
}  # fmt: skip
_CHILDREN = (
    "_ffi_node_api", "disco", "executable", "module", "params", "profiling", "script_printer",
    "signing", "strings", "vm",
)  # fmt: skip

if TYPE_CHECKING:
    from . import disco as disco
    from . import profiling as profiling
    from . import signing as signing
    from . import strings as strings
    from . import vm as vm
    from ._device import Device as Device
    from ._device import cpu as cpu
    from ._device import cuda as cuda
    from ._device import device as device
    from ._tensor import Tensor as Tensor
    from ._tensor import empty as empty
    from ._tensor import from_dlpack as from_dlpack
    from ._tensor import tensor as tensor
    from .benchmark import BenchmarkResult as BenchmarkResult
    from .executable import Executable as Executable
    from .interruption import time_limit as time_limit
    from .module import Module as Module
    from .module import enabled as enabled
    from .module import load_module as load_module
    from .module import load_static_library as load_static_library
    from .module import num_threads as num_threads
    from .params import load_param_dict as load_param_dict
    from .params import save_param_dict as save_param_dict
    from .vm import VirtualMachine as VirtualMachine
else:
    __getattr__ = lazy_names(__name__, _HOMES)

__dir__ = lazy_dir(__name__, *_CHILDREN, *_HOMES)
__all__ = ["Object"]
