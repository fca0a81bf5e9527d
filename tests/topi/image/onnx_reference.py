"""One operator of ONNX Runtime, as a yardstick."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper


def run(
    op: str, inputs: list[Any], opset: int = 19, out_type: int = TensorProto.FLOAT, **attrs: Any
) -> Any:
    """The first output of an operator; an input that is None is left out."""
    names = ["" if x is None else f"in{k}" for k, x in enumerate(inputs)]
    node = helper.make_node(op, names, ["out"], **attrs)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in zip(names, inputs)
        if n
    ]
    out = helper.make_tensor_value_info("out", out_type, None)
    graph = helper.make_graph([node], "one", infos, [out])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 9
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {n: np.asarray(x) for n, x in zip(names, inputs) if n})[0]
