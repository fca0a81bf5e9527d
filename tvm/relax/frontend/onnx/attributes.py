"""ONNX protos as plain Python: attributes, tensors, data types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tvm.error import OpAttributeInvalid, message

MAX_WRITTEN_OUT = 2**32  # elements of a sparse tensor


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
        elif isinstance(value, onnx.SparseTensorProto):
            value = sparse_array(value)
        elif isinstance(value, (list, tuple)) and value and isinstance(value[0], bytes):
            value = [item.decode("utf-8", "replace") for item in value]
        attrs[attr.name] = value
    return attrs


def weights_of(graph: Any) -> list[Any]:
    """The tensors that a graph holds; those that name only what is not 0, written out."""
    import onnx.numpy_helper

    written = [
        onnx.numpy_helper.from_array(sparse_array(tensor), tensor.values.name)
        for tensor in graph.sparse_initializer
    ]
    return [*graph.initializer, *written]


def weight_extents(graph: Any) -> dict[str, list[int]]:
    """The extents of the tensors that a graph holds, by their names."""
    sparse = {tensor.values.name: list(tensor.dims) for tensor in graph.sparse_initializer}
    return {tensor.name: list(tensor.dims) for tensor in graph.initializer} | sparse


def sparse_array(tensor: Any) -> NDArray[Any]:
    """The values of a sparse tensor proto, written out: 0 where it names none.

    Places are numbers in the order of the elements, or have a row of indices each.
    """
    name, dims = tensor.values.name, [int(extent) for extent in tensor.dims]
    values, places = tensor_array(tensor.values), tensor_array(tensor.indices)
    legal = f"extents of at most {MAX_WRITTEN_OUT:,} elements, and a place in them for each value"
    found = f"extents {dims}, {values.size} values, places of the shape {places.shape}"
    refusal = message(f"ONNX sparse tensor {name!r}", found=found, legal=legal)
    if min(dims, default=0) < 0 or math.prod(dims) > MAX_WRITTEN_OUT:
        raise OpAttributeInvalid(refusal)
    array = np.zeros(math.prod(dims), values.dtype)
    try:
        if places.ndim == 2:
            places = np.ravel_multi_index(tuple(places.T), dims)
        if values.shape != places.shape or places.min(initial=0) < 0:
            raise ValueError(found)
        array[places] = values
    except (ValueError, TypeError, IndexError) as err:
        raise OpAttributeInvalid(refusal) from err
    return array.reshape(dims)


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
