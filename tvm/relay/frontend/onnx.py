"""ONNX models in Relay.

mod, params = relay.frontend.from_onnx(onnx.load("model.onnx"), shape={"x": (1, 3, 224, 224)})
lib = relay.build(mod, "llvm", params=params)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import relax
from tvm.ir.module import IRModule
from tvm.relax.frontend.onnx import from_onnx as _into_relax
from tvm.relay.expr import Var
from tvm.relay.from_relax import from_relax
from tvm.relay.from_relax.translate import array_of, relay_type
from tvm.relay.ty import Any as AnyDim
from tvm.runtime import tensor
from tvm.tir import IntImm


def from_onnx(
    model: Any,
    shape: Mapping[str, Any] | None = None,
    dtype: str | Mapping[str, str] | None = "float32",
    opset: int | None = None,
    freeze_params: bool = True,
    convert_config: Mapping[str, Any] | None = None,
    export_node_renamed_model_path: str | None = None,
) -> tuple[IRModule, dict[str, Any]]:
    """A Relay module with a function `main` that computes the model, and its parameters by name.

    `shape` fixes shapes of inputs by name, `dtype` types of inputs that the model leaves open.
    With `freeze_params` weights are constants of the module and no parameters are left; without it
    they are parameters of `main` behind the inputs, under the model's names. `convert_config` has
    no choices to make here. `export_node_renamed_model_path` is a folder for a copy of the model
    whose nodes all have names, those that spans refer to.

    Raises OpNotImplemented for operators that have no form in Relay.
    """
    model = _named(model, export_node_renamed_model_path)
    found = _into_relax(
        model, _shapes(shape or {}), dtype, opset=opset, keep_params_in_input=not freeze_params,
        sanitize_input_names=False,
    )  # fmt: skip
    main = found["main"]
    assert isinstance(main, relax.Function), "the importer makes a function main"
    attrs: dict[str, Any] = dict(main.attrs.items())
    count = int(_number(attrs.get("num_input", len(main.params))))
    made = [Var(p.name_hint, relay_type(p.struct_info)) for p in main.params]
    values = attrs.get("params", ())
    params = {var.name_hint: tensor(array_of(value)) for var, value in zip(made[count:], values)}
    return from_relax(found, {"main": made}), params


def _number(value: Any) -> Any:
    return value.value if isinstance(value, IntImm) else value


def _shapes(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Shapes with a name for each extent that may be any."""
    return {
        name: [
            f"any_{where}_{at}" if isinstance(extent, AnyDim) else extent
            for at, extent in enumerate(shape)
        ]
        for where, (name, shape) in enumerate(given.items())
    }


def _named(model: Any, folder: str | None) -> Any:
    """The model, or a copy in which each node has a name, which is written into a folder."""
    if folder is None or not hasattr(model, "graph"):
        return model
    from pathlib import Path

    import onnx

    from tvm.runtime.files import write_beside

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for at, node in enumerate(copy.graph.node):
        node.name = node.name or f"{node.op_type}_{at}"
    Path(folder).mkdir(parents=True, exist_ok=True)
    name = copy.graph.name or "model"
    write_beside(Path(folder) / f"{name}_renamed.onnx", copy.SerializeToString())
    return copy
