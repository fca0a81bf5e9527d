"""Functions that are found by name, from Python and from compiled code.

Registration is a dict entry: `tvm_ffi` is loaded only when a function is looked up, or when
compiled code may look it up. Packages that register functions are named in `HOMES` by prefix, so
a look-up never depends on what somebody imported earlier.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, overload

from tvm.error import TVMError, message
from tvm.support.suggest import did_you_mean

from .library import at_load, is_loaded, library

F = TypeVar("F", bound=Callable[..., Any])

# prefix of a name -> the modules that register functions under it
HOMES: dict[str, list[str]] = {
    "runtime.": ["tvm.runtime.packed"],
    "runtime.CSourceModuleCreate": ["tvm.backend.c.given_source"],
    "ffi.Module.load_from_bytes.c": ["tvm.backend.c.given_source"],
    "ffi.Module.load_from_bytes.generated": ["tvm.runtime.generated_code"],
    "ffi.Module.load_from_bytes.static_library": ["tvm.runtime.static_library"],
    **{
        f"ffi.Module.load_from_bytes.{kind}": ["tvm.runtime.device_module"]
        for kind in ("cuda", "hip", "metal", "opencl", "rocm", "vulkan", "webgpu")
    },
    "tvm_callback_cuda_compile": ["tvm.contrib.nvcc"],
    "tvm_callback_rocm": ["tvm.contrib.rocm"],
    "tvm_callback_rocm_compile": ["tvm.contrib.hiprtc"],
    **{
        prefix: ["tvm.driver.found_by_name"]
        for prefix in ("arith.", "ir.", "node.", "script.", "te.", "tir.", "transform.")
    },
    "tir.index_map": ["tvm.tir.tensor_intrin"],
    "runtime.disco.": [
        "tvm.runtime.disco.session", "tvm.runtime.disco.session_functions",
        "tvm.runtime.disco.shard_loader",
    ],
    "relax.analysis.": ["tvm.driver.relax_by_name"],
    "relax.dpl.": ["tvm.driver.relax_by_name"],
    "relax.op.": ["tvm.driver.relax_by_name"],
    "relax.transform.": ["tvm.driver.relax_by_name"],
    "relax.run.": ["tvm.relax.op.base", "tvm.relax.op.set"],
    "relay.collage.": ["tvm.relay.collage.collage"],
    "tvm.relay.collage.": ["tvm.relay.collage.collage"],
    "relay.run.": ["tvm.relay.op.sparse"],
    "relay.tec.": ["tvm.relay.backend.lower_te"],
    "relay.vm.": ["tvm.relay.backend.vm_executable"],
    "tvm.relay.type_relation.": ["tvm.relay.op.relation_functions"],
    "target.": ["tvm.target.registered", "tvm.driver.found_by_name"],
    "testing.": ["tvm.testing.calls", "tvm.testing.conversions"],
    "rpc.test.": ["tvm.rpc.testing"],
    "rpc.builtin.": ["tvm.rpc.builtins"],
    "tvm.rpc.server.": ["tvm.rpc.builtins"],
    "rpc.Connect": ["tvm.rpc.builtins"],
    "device_api.remote.": ["tvm.rpc.remote"],
    "meta_schedule.": ["tvm.meta_schedule.utils"],
    "meta_schedule.cpu.": ["tvm.meta_schedule.schedule.cpu.winograd"],
    "meta_schedule.cuda.": [
        "tvm.meta_schedule.schedule.cuda.layout_transform",
        "tvm.meta_schedule.schedule.cuda.winograd",
    ],
    "meta_schedule.builder.": ["tvm.meta_schedule.builder.local_builder"],
    "meta_schedule.runner.": ["tvm.meta_schedule.runner.local_runner"],
    "tvm.meta_schedule.builder.": ["tvm.meta_schedule.builder.local_builder"],
    "tvm.meta_schedule.tune_tir": ["tvm.meta_schedule.tir_integration"],
    "diagnostics.": ["tvm.ir.diagnostics"],
    "tvm.meta_schedule.tune_relax": ["tvm.meta_schedule.relax_integration"],
    "vm.builtin.": [
        "tvm.runtime.vm_builtin", "tvm.runtime.vm_builtin_sampling",
        "tvm.runtime.vm_builtin_cache", "tvm.runtime.vm_builtin_debug",
        "tvm.runtime.vm_builtin_graph", "tvm.runtime.vm_builtin_kv",
        "tvm.runtime.vm_builtin_sequence",
    ],
}
# Functions that programs call by name without any Python of ours on the way: the module that
# registers one is imported at its first call.
AT_FIRST_CALL: dict[str, tuple[str, ...]] = {
    "tvm.runtime.device_api.workspace": (
        "runtime.take_device_workspace", "runtime.give_device_workspace",
    ),
    "tvm.runtime.packed": ("tvm.default_trace_action", "cache_flush_cpu_non_first_arg"),
    "tvm.runtime.disco.builtins": (
        "runtime.disco.allreduce", "runtime.disco.allgather",
        "runtime.disco.broadcast_from_worker0", "runtime.disco.scatter_from_worker0",
        "runtime.disco.gather_to_worker0", "runtime.disco.recv_from_worker0",
        "runtime.disco.send_to_worker", "runtime.disco.recv_from_worker",
        "runtime.disco.send_to_next_group", "runtime.disco.recv_from_prev_group",
        "runtime.disco.worker_id", "runtime.disco.worker_rank",
    ),
    "tvm.runtime.packed_images": ("tvm.contrib.images.decode",),
    "tvm.runtime.packed_blas": (
        "tvm.contrib.cblas.matmul", "tvm.contrib.cblas.batch_matmul",
        "tvm.contrib.cblas.batch_matmul_iterative",
    ),
    "tvm.runtime.packed_random": (
        "tvm.contrib.random.seed", "tvm.contrib.random.uniform", "tvm.contrib.random.normal",
        "tvm.contrib.random.randint", "tvm.contrib.random.random_fill",
        "tvm.contrib.random.random_fill_for_measure",
    ),
    "tvm.runtime.packed_sort": (
        "tvm.contrib.sort.sort", "tvm.contrib.sort.argsort", "tvm.contrib.sort.argsort_nms",
        "tvm.contrib.sort.topk",
    ),
    "tvm.runtime.maps": (
        "tvm.contrib.maps.given", "tvm.contrib.maps.vectorize", "tvm.contrib.maps.cast",
    ),
    "tvm.runtime.strings": (
        "tvm.contrib.strings.of", "tvm.contrib.strings.concat", "tvm.contrib.strings.split",
        "tvm.contrib.strings.normalize", "tvm.contrib.strings.full_match",
        "tvm.contrib.strings.unique", "tvm.contrib.strings.to_numbers",
        "tvm.contrib.strings.from_numbers",
    ),
    "tvm.runtime.tokens": ("tvm.contrib.strings.tokenize", "tvm.contrib.strings.murmur"),
}  # fmt: skip
_pending: dict[str, tuple[Callable[..., Any], bool]] = {}


def add_home(prefix: str, module: str) -> None:
    """Import `module` before a name that starts with `prefix` is declared missing."""
    HOMES.setdefault(prefix, []).append(module)


@overload
def register_global_func(
    func_name: str, f: None = None, override: bool = False
) -> Callable[[F], F]: ...
@overload
def register_global_func(func_name: str, f: F, override: bool = False) -> F: ...
@overload
def register_global_func(func_name: F, f: None = None, override: bool = False) -> F: ...
def register_global_func(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Make a function findable by name; works as a decorator, with or without a name."""
    if callable(func_name):
        return register_global_func(func_name.__name__, func_name, override)
    if not isinstance(func_name, str):
        raise TypeError(
            message(
                "register_global_func needs a name",
                found=f"{func_name!r} of type {type(func_name).__name__}",
                legal='a str, as in register_global_func("my.add", f)',
            )
        )
    if f is None:
        return lambda func: register_global_func(func_name, func, override)
    if is_loaded():
        _put(func_name, f, override)
        return f
    if func_name in _pending and not override:
        raise _taken(func_name)
    _pending[func_name] = (f, override)
    return f


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """The function called `name`; None if there is none and `allow_missing` is set."""
    tvm_ffi = library()
    func = tvm_ffi.get_global_func(name, allow_missing=True)
    if func is None and _load_homes(name):
        func = tvm_ffi.get_global_func(name, allow_missing=True)
    if func is not None or allow_missing:
        return func
    near = did_you_mean(name, list_global_func_names())
    raise ValueError(f"cannot find global function {name!r}{near}")


def remove_global_func(name: str) -> None:
    """Forget the function called `name`."""
    if _pending.pop(name, None) is None:
        library().remove_global_func(name)


def list_global_func_names() -> list[str]:
    """The names of all functions registered so far, sorted."""
    return sorted(str(n) for n in library().registry.list_global_func_names())


def _load_homes(name: str) -> bool:
    """Import the modules whose prefix `name` carries; True if there was one to import."""
    found = False
    for prefix in sorted(HOMES):
        if name.startswith(prefix):
            for module in HOMES.get(prefix, ()):
                importlib.import_module(module)
                found = True
            # only now: other threads that ask meanwhile are to wait for the import too
            HOMES.pop(prefix, None)
    return found


def _put(name: str, func: Callable[..., Any], override: bool) -> None:
    tvm_ffi = library()
    if not override and tvm_ffi.get_global_func(name, allow_missing=True) is not None:
        raise _taken(name)
    tvm_ffi.register_global_func(name, func, override=override)


def _taken(name: str) -> TVMError:
    return TVMError(
        message(
            f"register global function {name!r}",
            found="the name is taken",
            legal="another name, or override=True",
        )
    )


def _at_first_call(module: str, name: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        importlib.import_module(module)  # which registers the function itself instead of us
        return library().get_global_func(name)(*args)

    return call


def _flush(tvm_ffi: ModuleType) -> None:
    for module, names in AT_FIRST_CALL.items():
        for name in names:
            tvm_ffi.register_global_func(name, _at_first_call(module, name), override=True)
    for name, (func, override) in _pending.items():
        tvm_ffi.register_global_func(name, func, override=override)
    _pending.clear()


at_load(_flush)
