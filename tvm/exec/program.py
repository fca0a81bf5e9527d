"""Programs as people have them, read to a module: ONNX, StableHLO, TVMScript, Relay, and more."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tvm.error import TVMError, message
from tvm.exec.command import Mistake
from tvm.exec.files import check_input
from tvm.exec.shapes import parse_shapes
from tvm.ir.module import IRModule

LIBRARIES: Final = (".so", ".dylib", ".dll", ".o", ".tar")
LEGAL: Final = (
    "an ONNX model (.onnx), a program of torch.export (.pt2), StableHLO (.mlir, .stablehlo), "
    "TVMScript (.py, .tvm), Relay (.relay, .rly, .txt), a module saved as JSON (.json)"
)


def read_program(path: Path, shapes: str = "") -> IRModule:
    """The module of a file, told by its suffix; `shapes` fixes open ones of an ONNX model."""
    read = _READERS.get(path.suffix.lower())
    if read is None:
        asked = f"cannot read the program {str(path)!r}"
        raise Mistake(message(asked, found=f"suffix {path.suffix!r}", legal=LEGAL))
    given = parse_shapes(shapes)
    if read is _onnx:
        return _onnx(path, given)
    if given:
        asked = f"--input-shapes for {str(path)!r}"
        raise Mistake(message(asked, found="its shapes are its own", legal="an ONNX model"))
    check_input(path, "the program")
    return read(path, given)


Reader = Callable[[Path, dict[str, list[int]]], IRModule]


def _onnx(path: Path, shapes: dict[str, list[int]]) -> IRModule:
    from tvm.exec.onnx_file import check_shapes, load_model
    from tvm.relax.frontend.onnx import from_onnx

    model = load_model(path)
    check_shapes(model, shapes)
    return from_onnx(model, shape_dict=shapes or None)


def _exported(path: Path, _: dict[str, list[int]]) -> IRModule:
    try:
        import torch
    except ImportError as error:
        asked, legal = "reading .pt2 files needs the package torch", 'pip install "tvm-py[torch]"'
        raise Mistake(message(asked, found=str(error), legal=legal)) from error
    from tvm.relax.frontend.torch import from_exported_program

    log = logging.getLogger("torch.export")
    before = log.level
    log.setLevel(logging.CRITICAL)  # it tells with a traceback what we tell in a line
    try:
        program = torch.export.load(path)
    except Exception as error:  # torch says it in many ways
        raise _refused(path, error, "what torch.export.save writes") from error
    finally:
        log.setLevel(before)
    return from_exported_program(program)


def _stablehlo(path: Path, _: dict[str, list[int]]) -> IRModule:
    try:
        from tvm.relax.frontend.stablehlo import from_stablehlo

        return from_stablehlo(_text(path))
    except ImportError as error:
        asked, legal = "reading StableHLO needs the package jaxlib", 'pip install "tvm-py[jax]"'
        raise Mistake(message(asked, found=str(error), legal=legal)) from error


def _script(path: Path, _: dict[str, list[int]]) -> IRModule:
    from tvm.script import from_source

    found = from_source(_text(path))
    return found if isinstance(found, IRModule) else IRModule.from_expr(found)


def _relay(path: Path, _: dict[str, list[int]]) -> IRModule:
    from tvm.relay.parser import parse
    from tvm.relay.to_relax import to_relax
    from tvm.relay.transform import InferType

    text = _text(path)
    if not re.match(r"\s*#\[version", text):
        text = f'#[version = "0.0.5"]\n{text}'
    return to_relax(InferType()(parse(text, str(path))))


def _json(path: Path, _: dict[str, list[int]]) -> IRModule:
    from tvm.ir.json import load_json

    try:
        found = load_json(_text(path))
    except (ValueError, TVMError) as error:
        raise _refused(path, error, "what tvm.ir.save_json writes of a module") from error
    if not isinstance(found, IRModule):
        raise _refused(path, TypeError(f"a {type(found).__name__}"), "a saved module")
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        found = f"byte {error.start}: {error.reason}"
        asked = f"cannot read the program {str(path)!r}"
        raise Mistake(message(asked, found=found, legal="text as UTF-8")) from error


def _refused(path: Path, error: Exception, legal: str) -> Mistake:
    found = str(error).splitlines()[0] if str(error) else type(error).__name__
    return Mistake(message(f"cannot read the program {str(path)!r}", found=found, legal=legal))


_READERS: Final[dict[str, Reader]] = {
    ".onnx": _onnx, ".pt2": _exported, ".mlir": _stablehlo, ".stablehlo": _stablehlo,
    ".py": _script, ".tvm": _script, ".relay": _relay, ".rly": _relay, ".txt": _relay,
    ".json": _json,
}  # fmt: skip
