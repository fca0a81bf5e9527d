"""Models of Core ML, run by Apple's runtime where one is linked in, here or at a server."""

from __future__ import annotations

from typing import Any

from tvm.runtime import Device

from .runtimes import function_of


def create(symbol: str, compiled_model_path: str, device: Device) -> CoreMLModule:
    """A runner of a compiled model (`.mlmodelc`), whose functions are those of `symbol`."""
    make = function_of(device, "tvm.coreml_runtime.create")
    return CoreMLModule(make(symbol, compiled_model_path))


class CoreMLModule:
    """One state of a model: `set_input(name, value)`, `invoke()`, `get_output(index)`."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.invoke = module["invoke"]
        self.set_input = module["set_input"]
        self.get_output = module["get_output"]
        self.get_num_outputs = module["get_num_outputs"]
