"""Small ONNX models, and how they run: by ONNX Runtime, and compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.runtime import strings

Array = NDArray[Any]
KINDS = {
    "float32": TensorProto.FLOAT, "int64": TensorProto.INT64, "int32": TensorProto.INT32,
    "bool": TensorProto.BOOL, "uint8": TensorProto.UINT8, "float64": TensorProto.DOUBLE,
    "int8": TensorProto.INT8, "uint32": TensorProto.UINT32, "uint64": TensorProto.UINT64,
    "object": TensorProto.STRING,
}  # fmt: skip


def make_model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    weights: Mapping[str, Array] | None = None,
    opset: int = 17,
    shapes: Mapping[str, Sequence[int | str]] | None = None,
    domains: Mapping[str, int] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    """A model of these nodes; shapes of inputs follow from the arrays unless given."""
    values = [
        helper.make_tensor_value_info(
            name, KINDS[str(array.dtype)], list((shapes or {}).get(name, array.shape))
        )
        for name, array in inputs.items()
    ]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    constants = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "g", values, results, constants)
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    imports += [helper.make_opsetid(name, number) for name, number in (domains or {}).items()]
    model = helper.make_model(
        graph, opset_imports=imports, ir_version=10, functions=list(functions)
    )
    inferred: onnx.ModelProto = onnx.shape_inference.infer_shapes(model)
    known = {value.name: value for value in inferred.graph.value_info}
    known |= {value.name: value for value in inferred.graph.output}
    for value in model.graph.output:
        if value.name in known:  # ONNX infers nothing of operators that are not its own
            value.CopyFrom(known[value.name])
    return model


def run_onnx(model: onnx.ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The outputs as ONNX Runtime computes them."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return list(session.run(None, dict(inputs)))


def run_compiled(
    model: onnx.ModelProto, inputs: Mapping[str, Array], target: str = "llvm", **options: Any
) -> list[Array]:
    """The outputs of the compiled model."""
    mod = from_onnx(model, **options)
    vm = relax.VirtualMachine(tvm.compile(mod, target), tvm.cpu())
    values = [strings.encode(v) if v.dtype.kind in "OU" else v for v in inputs.values()]
    result = vm["main"](*values)
    several = [result] if hasattr(result, "numpy") else result
    return [value.numpy() for value in several]


def check(model: onnx.ModelProto, inputs: Mapping[str, Array], rtol: float = 1e-5) -> None:
    """Both give the same, in shape, type and value."""
    wanted, got = run_onnx(model, inputs), run_compiled(model, inputs)
    assert len(wanted) == len(got)
    for want, have in zip(wanted, got):
        if want.dtype == object:
            np.testing.assert_array_equal(strings.decode(have), want)
            continue
        assert have.dtype == want.dtype
        assert have.shape == want.shape
        np.testing.assert_allclose(have, want, rtol=rtol, atol=1e-5)


def check_sizes(
    model: onnx.ModelProto, runs: Sequence[Mapping[str, Array]], rtol: float = 1e-5, **options: Any
) -> None:
    """One compiled model gives what ONNX Runtime gives, for inputs of several sizes."""
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model, **options), "llvm"), tvm.cpu())
    for inputs in runs:
        result = vm["main"](*inputs.values())
        got = [result] if hasattr(result, "numpy") else list(result)
        wanted = run_onnx(model, inputs)
        assert len(wanted) == len(got)
        for want, value in zip(wanted, got):
            have = value.numpy()
            assert have.dtype == want.dtype
            assert have.shape == want.shape
            np.testing.assert_allclose(have, want, rtol=rtol, atol=1e-5)
