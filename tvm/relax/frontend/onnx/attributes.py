"""ONNX protos as plain Python: attributes, tensors, data types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm.error import OpAttributeInvalid, message


def node_attributes(node: Any) -> dict[str, Any]:
    """A node's attributes by name: numbers, strings, lists of them, arrays, graphs."""
    import onnx  # an extra: only those who import models need it

    attrs: dict[str, Any] = {}
    for attr in node.attribute:
        value = onnx.helper.get_attribute_value(attr)
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        elif isinstance(value, onnx.TensorProto):
            value = tensor_array(value)
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], bytes):
            value = [item.decode("utf-8", "replace") for item in value]
        attrs[attr.name] = value
    return attrs


def tensor_array(tensor: Any) -> NDArray[Any]:
    """The values of a tensor proto."""
    import onnx.checker
    import onnx.numpy_helper

    try:
        array: NDArray[Any] = onnx.numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, OSError, onnx.checker.ValidationError) as err:
        raise OpAttributeInvalid(f"ONNX tensor {tensor.name!r} cannot be read: {err}") from err
    return array


def dtype_name(elem_type: int | str) -> str:
    """The data type behind ONNX's number for it; empty when the model leaves it open.

    The first operator sets name it instead: "INT64".
    """
    if elem_type == 0:
        return ""
    import onnx.helper

    known = dict(onnx.TensorProto.DataType.items())
    number = known.get(elem_type.upper(), -1) if isinstance(elem_type, str) else elem_type
    try:
        return str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)).name)
    except KeyError:
        numbers = sorted(n for n in onnx.TensorProto.DataType.values() if n)
        raise OpAttributeInvalid(
            message("ONNX data type", found=repr(elem_type), legal=f"1 ... {numbers[-1]}")
        ) from None
