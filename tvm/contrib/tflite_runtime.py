"""Models of TensorFlow Lite, run by its own runtime where one is linked in, here or at a server."""

from __future__ import annotations

from typing import Any

from tvm.runtime import Device

from .runtimes import function_of


def create(tflite_model_bytes: bytes, device: Device, runtime_target: str = "cpu") -> TFLiteModule:
    """A runner of a model; `runtime_target` "edge_tpu" asks for the runtime of Edge TPUs."""
    name = "edgetpu_runtime" if runtime_target == "edge_tpu" else "tflite_runtime"
    make = function_of(device, f"tvm.{name}.create")
    return TFLiteModule(make(bytearray(tflite_model_bytes), device))


class TFLiteModule:
    """One state of a model: set inputs by their numbers, invoke, get outputs."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self._set_input = module["set_input"]
        self._invoke = module["invoke"]
        self._get_output = module["get_output"]
        self._set_num_threads = module["set_num_threads"]

    def set_input(self, index: int, value: Any) -> None:
        """Give the input with a number its value."""
        self._set_input(index, value)

    def invoke(self) -> None:
        """Run the model."""
        self._invoke()

    def get_output(self, index: int) -> Any:
        """The output with a number."""
        return self._get_output(index)

    def set_num_threads(self, num_threads: int) -> None:
        """The threads that the model may use."""
        self._set_num_threads(num_threads)
