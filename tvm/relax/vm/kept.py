"""Compiled models kept in the cache: one that was compiled before is loaded, and no pass runs.

    kept = model_key(mod, target, "compiled")        # None: not a model that can be kept
    found = load_model(kept, target) or compile...
    store_model(kept, executable)

An entry is the text of the code, whose object has an entry of its own, and the description of the
program. The constants lie beside it in one piece, which is mapped and not read.
"""

from __future__ import annotations

import json
from typing import Any, Final

from tvm.backend.llvm import cache
from tvm.backend.llvm.codegen import Emitted
from tvm.backend.llvm.module import LLVMModule
from tvm.backend.llvm.setting import setting
from tvm.backend.llvm.target import machine_of
from tvm.error import TVMError
from tvm.ir.host_tensor import HostTensor
from tvm.ir.json_rows import key_text
from tvm.ir.module import IRModule
from tvm.runtime._tensor import from_host, host_view
from tvm.runtime.artefact import Artefact
from tvm.runtime.vm_executable import VMExecutable, VMModule
from tvm.support.digest import content_digest
from tvm.support.dtype import DataType
from tvm.target.target import Target

_FORMAT: Final = "model 2"
_ALIGN: Final = 64


def model_key(mod: IRModule, target: Target, exec_mode: str) -> str | None:
    """The name under which the compiled module is kept; None where it depends on more than itself.

    It does where somebody watches the passes or adds to them, brought rules or types of his own, or
    links what came compiled.
    """
    given = setting(target)
    if given is None or "external_mods" in mod.attrs:
        return None
    try:
        graph, tensors = key_text(mod)
    except (TypeError, ValueError, TVMError):  # objects in the graph
        return None
    told = [f"{t.dtype} {tuple(t.shape)} {content_digest(_raw(t))}" for t in tensors]
    return cache.key_of([_FORMAT, *given, exec_mode, graph, *told])


def store_model(key: str, made: VMExecutable) -> None:
    """Keep a compiled model, if it is one of code for this library's CPU backend and constants."""
    module = made.mod
    kernels = module.kernels
    if type(kernels) is not LLVMModule or kernels.imports or module.artefact.devices:
        return
    tensors = [HostTensor(host_view(tensor)) for tensor in module.constants]
    held = [*kernels.constants.values(), *tensors]
    emitted = kernels.emitted
    layouts: list[list[Any]] = []
    parts: list[Any] = []
    end = 0
    for tensor in held:
        raw = tensor.raw()
        parts += [b"\0" * (-end % _ALIGN), raw]
        end += -end % _ALIGN
        shape = list(tensor.shape)
        layouts.append([end, raw.nbytes, str(tensor.dtype), shape, content_digest(raw)])
        end += raw.nbytes
    record = {
        "artefact": module.artefact.to_json(),
        "text": emitted.text,
        "packed": list(emitted.packed),
        "entry": emitted.entry,
        "looks_up": emitted.looks_up,
        "symbols": list(kernels.constants),
        "places": layouts,
    }
    if not parts or cache.store_data(key, parts):
        cache.store(key, json.dumps(record).encode())


def load_model(key: str, target: Target) -> VMExecutable | None:
    """The model that was kept under a name; None where there is none, or a damaged one."""
    content = cache.load(key)
    if content is None:
        return None
    record: dict[str, Any] = json.loads(content)
    data = cache.load_data(key) if record["places"] else memoryview(b"")
    if data is None:
        return None
    tensors: list[HostTensor] = []
    for layout in record["places"]:
        tensor = _tensor(data, *layout)
        if tensor is None:
            return None
        tensors.append(tensor)
    symbols = record["symbols"]
    constants = dict(zip(symbols, tensors))
    emitted = Emitted(
        record["text"], constants, tuple(record["packed"]), record["entry"], record["looks_up"]
    )
    runtime = tuple(from_host(tensor.numpy()) for tensor in tensors[len(symbols) :])
    kernels = LLVMModule(emitted, machine_of(target))
    return VMExecutable(VMModule(Artefact.from_json(record["artefact"]), kernels, runtime))


def _tensor(
    data: memoryview, start: int, size: int, dtype: str, shape: list[int], digest: str
) -> HostTensor | None:
    """A constant in the mapped data; None where its bytes are not those that were kept."""
    import numpy as np  # Relax loads without numpy

    from tvm.relax.numpy_dtype import numpy_dtype

    kind = numpy_dtype(DataType(dtype))
    raw = data[start : start + size]
    if raw.nbytes != size or content_digest(raw) != digest:
        return None
    return HostTensor(np.frombuffer(raw, np.uint8).view(kind).reshape(shape))


def _raw(tensor: Any) -> memoryview:
    held = tensor if isinstance(tensor, HostTensor) else HostTensor(tensor.numpy())
    return held.raw()
