"""TVM, all in Python: from models and tensor programs to fast native code.

The way of the data, which is also the order of the floors (each imports only lower ones):

    support error      helpers that know nothing of compilers
    ffi runtime rpc    tensors, devices, modules: enough to run what was compiled
    ir                 nodes, spans, types, operators, modules, passes
    script             TVMScript: documents, printer core, parser core
    target             what is compiled for
    tir arith          loop programs over buffers, and the algebra that proves things about them
    te topi            tensor expressions, and the operator library written in them
    dlight             schedules by rule; meta_schedule: schedules by search
    backend            one folder a backend: llvm, c, ...
    relax              graphs of tensor operators; relax.frontend reads models
    driver exec        compile() on one page; the command line
    report             what the compiler did, as data and as a page

`import tvm` loads none of them: each is imported when its name is first used.
"""

import os as _os
from typing import TYPE_CHECKING

from .support.gone import gone
from .support.lazy import lazy_dir, lazy_names

__version__ = "0.1.0"

# Before any module that may be compiled; without a core this takes one look for a folder.
if "TVM_CORE" in _os.environ or _os.path.isdir(f"{__path__[0]}/_core"):
    from .support.compiled_core import install

    install()

_CHILDREN = (
    "arith", "backend", "codegen", "contrib", "dlight", "driver", "error", "exec", "ffi", "ir",
    "meta_schedule", "nd", "parser",
    "relax", "relay", "report", "rpc", "runtime", "script", "support", "target", "te", "testing",
    "tir",
    "tirx", "topi",
)  # fmt: skip
_HOMES = {
    "instrument": "tvm.ir.instrument",
    "transform": "tvm.ir.transform",
    "IRModule": "tvm.ir.module:IRModule",
    "Object": "tvm.ffi.object:Object",
    "DataType": "tvm.support.dtype:DataType",
    "DataTypeCode": "tvm.support.dtype:DataTypeCode",
    "TVMError": "tvm.base:TVMError",
    "container": "tvm.ir.container",

    "Target": "tvm.target:Target",
    "Device": "tvm.runtime:Device",
    "Tensor": "tvm.runtime:Tensor",
    "build": "tvm.driver:build",
    "lower": "tvm.driver:lower",
    "compile": "tvm.driver:compile",
    "const": "tvm.tir.op.arith:const",
    "register_global_func": "tvm.ffi:register_global_func",
    "get_global_func": "tvm.ffi:get_global_func",
    # as scripts for Relay call them
    "register_func": "tvm.ffi:register_global_func",
    "register_object": "tvm.ffi:register_object",
    **{
        name: f"tvm.runtime:{name}"
        for name in (
            "cpu", "cuda", "device", "ext_dev", "hexagon", "metal", "opencl", "rocm", "vpi",
            "vulkan", "webgpu",
        )
    },
}  # fmt: skip

_GONE = {
    "autotvm": "tvm.meta_schedule tunes kernels, and tvm.dlight has schedules that need no tuning",
    "auto_scheduler": "tvm.meta_schedule searches schedules; see meta_schedule.tune_tir",
    "micro": "the backend for C writes code without a runtime; see tvm.build(mod, 'c')",
}

if TYPE_CHECKING:
    from . import arith as arith
    from . import error as error
    from . import ir as ir
    from . import relax as relax
    from . import runtime as runtime
    from . import script as script
    from . import target as target
    from . import te as te
    from . import tir as tir
    from . import topi as topi
    from .base import TVMError as TVMError
    from .driver import build as build
    from .driver import compile as compile
    from .ir import instrument as instrument
    from .ir import transform as transform
    from .ir.module import IRModule as IRModule
    from .runtime import Device as Device
    from .runtime import cpu as cpu
    from .support.dtype import DataType as DataType
    from .target import Target as Target
else:
    _find = lazy_names(__name__, _HOMES)

    def __getattr__(name: str) -> object:
        if name in _GONE:
            return globals().setdefault(name, gone(f"tvm.{name}", _GONE[name]))
        return _find(name)

__dir__ = lazy_dir(__name__, *_CHILDREN, *_HOMES)
