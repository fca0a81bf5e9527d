"""Models of other frameworks in Relay, read by Relax's importers."""

from typing import Any

from . import common as common
from .change_datatype import ChangeDatatype as ChangeDatatype
from .onnx import from_onnx as from_onnx
from .pytorch import from_pytorch as from_pytorch

_BY_ONNX = "write the model as ONNX ({}), and read it with from_onnx"
_UNKEPT = "the framework is no longer developed; its models that were written as ONNX are read"
_ELSEWHERE = {
    "from_keras": _BY_ONNX.format('Keras 3: model.export(path, format="onnx")'),
    "from_tensorflow": _BY_ONNX.format("tf2onnx"),
    "from_tflite": _BY_ONNX.format("tf2onnx --tflite"),
    "from_paddle": _BY_ONNX.format("paddle2onnx"),
    "from_coreml": _BY_ONNX.format("onnxmltools"),
    **dict.fromkeys(
        ("from_caffe", "from_caffe2", "from_darknet", "from_mxnet", "from_oneflow"), _UNKEPT
    ),
}


def __getattr__(name: str) -> Any:
    """An AttributeError that says where the model of another framework can be read."""
    where = _ELSEWHERE.get(name)
    said = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(said if where is None else f"{said}: {where}")
