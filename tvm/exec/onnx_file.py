"""An ONNX file as a model proto, refused with a message if it is not one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.error import message
from tvm.exec.command import Mistake
from tvm.exec.files import check_input
from tvm.exec.shapes import show_shape, show_shapes
from tvm.support.suggest import did_you_mean

if TYPE_CHECKING:
    import onnx

LEGAL = "a whole ONNX model, as onnx.save or an exporter writes it"


def load_model(path: Path) -> onnx.ModelProto:
    """Read the model. Operators are not looked at: the importer lists all that it lacks."""
    check_input(path, "the model")
    try:
        import onnx
        from google.protobuf.message import DecodeError
    except ImportError as error:
        asked, legal = "reading ONNX files needs the package onnx", 'pip install "tvm-py[onnx]"'
        raise Mistake(message(asked, found=str(error), legal=legal)) from error
    try:
        model = onnx.load(path, load_external_data=True)
    except DecodeError as error:
        found = "its bytes do not decode: it is cut short, or another kind of file"
        raise _refuse(path, found) from error
    except (onnx.checker.ValidationError, OSError) as error:    # weights kept in other files
        raise _refuse(path, str(error)) from error
    for what, there in {
        "graph": model.HasField("graph"), "operator set version": model.opset_import
    }.items():
        if not there:
            raise _refuse(path, f"it has no {what}: it is cut short, or another kind of file")
    if not model.graph.output:
        raise _refuse(path, "its graph has no output")
    return model


def input_shapes(model: onnx.ModelProto) -> dict[str, list[int | str]]:
    """The inputs that are no weights; an unknown dimension is `?`."""
    weights = {tensor.name for tensor in model.graph.initializer}
    shapes: dict[str, list[int | str]] = {}
    for value in model.graph.input:
        if value.name not in weights:
            dims = value.type.tensor_type.shape.dim
            shapes[value.name] = [
                dim.dim_value if dim.HasField("dim_value") else dim.dim_param or "?" for dim in dims
            ]
    return shapes


def check_shapes(model: onnx.ModelProto, asked: Mapping[str, Sequence[int]]) -> None:
    """Refuse shapes for inputs that do not exist, or that the model's own shapes rule out."""
    known = input_shapes(model)
    for name, shape in asked.items():
        if name not in known:
            near = did_you_mean(name, known)
            raise Mistake(
                message(
                    f"--input-shapes names {name!r}, which is no input of the model{near}",
                    legal=show_shapes(known),
                )
            )
        wanted = known[name]
        fits = len(wanted) == len(shape) and all(
            isinstance(w, str) or w == s for w, s in zip(wanted, shape, strict=True)
        )
        if wanted and not fits:
            raise Mistake(
                message(
                    f"--input-shapes gives {name!r} a shape that the model rules out",
                    found=show_shape(shape),
                    legal=show_shape(wanted),
                )
            )


def _refuse(path: Path, found: str) -> Mistake:
    return Mistake(message(f"{str(path)!r} is not an ONNX model", found=found, legal=LEGAL))
