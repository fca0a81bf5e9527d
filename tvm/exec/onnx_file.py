"""An ONNX file as a model proto, refused with a message if it is not one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.error import message
from tvm.exec.command import Mistake
from tvm.exec.files import check_input

if TYPE_CHECKING:
    import onnx

_UNREADABLE = (ValueError, OSError, OverflowError, MemoryError, RuntimeError)
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
    except (DecodeError, UnicodeDecodeError) as error:
        found = "its bytes do not decode: it is cut short, or another kind of file"
        raise _refuse(path, found) from error
    # weights kept in other files; a text form that is none; more than there is memory for
    except (*_UNREADABLE, onnx.checker.ValidationError) as error:
        raise _refuse(path, str(error)) from error
    for what, there in {
        "graph": model.HasField("graph"), "operator set version": model.opset_import
    }.items():
        if not there:
            raise _refuse(path, f"it has no {what}: it is cut short, or another kind of file")
    if not model.graph.output:
        raise _refuse(path, "its graph has no output")
    return model


def check_shapes(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> None:
    """Refuse other extents than the numbers that the model itself has.

    `from_onnx` takes them: whoever writes a program may know that the model allows it.
    """
    from tvm.relax.frontend.onnx.dimensions import declared

    for value in model.graph.input:
        given, own = shapes.get(value.name), declared(value.name, value.type.tensor_type)
        if given is None or not own or len(own) != len(given):
            continue  # a wrong rank is refused by the importer
        if any(isinstance(a, int) and a != b for a, b in zip(own, given)):
            asked = f"--input-shapes gives input {value.name!r} a shape that the model rules out"
            raise Mistake(message(asked, found=str(list(given)), legal=str(own)))


def _refuse(path: Path, found: str) -> Mistake:
    return Mistake(message(f"{str(path)!r} is not an ONNX model", found=found, legal=LEGAL))
