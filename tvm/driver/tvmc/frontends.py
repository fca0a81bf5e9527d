"""Files of models, read as modules of Relay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from tvm.ir.module import IRModule
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relay import frontend
from tvm.relay.function import Function
from tvm.relay.parser import fromtext
from tvm.relay.transform import InferType
from tvm.runtime import tensor
from tvm.support.dtype import DataType

from .errors import TVMCException, TVMCImportError
from .model import TVMCModel

Loaded = tuple[IRModule, dict[str, Any]]


def lazy_import(pkg_name: str, from_pkg_name: str | None = None, hide_stderr: bool = False) -> Any:
    """The package, or one of its modules; TVMCImportError where it is not installed."""
    try:
        return import_module(pkg_name, package=from_pkg_name)
    except ImportError as error:
        raise TVMCImportError(pkg_name) from error


class Frontend(ABC):
    """Reads the files of one framework."""

    SUFFIXES: ClassVar[tuple[str, ...]]

    @staticmethod
    @abstractmethod
    def name() -> str:
        """What `--model-format` calls it."""

    @classmethod
    def suffixes(cls) -> list[str]:
        """The suffixes of its files, without a point."""
        return list(cls.SUFFIXES)

    @abstractmethod
    def load(self, path: str, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> Loaded:
        """The module in a file and its parameters."""


class OnnxFrontend(Frontend):
    """ONNX: `relay.frontend.from_onnx`."""

    SUFFIXES = ("onnx",)

    @staticmethod
    def name() -> str:
        return "onnx"

    def load(self, path: str, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> Loaded:
        model = lazy_import("onnx").load(path)
        return frontend.from_onnx(model, shape=shape_dict, **kwargs)


class PyTorchFrontend(Frontend):
    """Traced modules that torch saved: `relay.frontend.from_pytorch`. Shapes must be given."""

    SUFFIXES = ("pth", "zip", "pt")

    @staticmethod
    def name() -> str:
        return "pytorch"

    def load(self, path: str, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> Loaded:
        if not shape_dict:
            raise TVMCException("--input-shapes must be specified for pytorch models")
        torch = lazy_import("torch")
        traced = torch.jit.load(path, map_location="cpu").eval()
        return frontend.from_pytorch(traced, list(shape_dict.items()), **kwargs)


class RelayFrontend(Frontend):
    """Text of Relay.

    Parameters of `main` that no shape is given for are weights: they get random numbers, always
    the same. Without shapes all of them are inputs.
    """

    SUFFIXES = ("relay",)

    @staticmethod
    def name() -> str:
        return "relay"

    def load(self, path: str, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> Loaded:
        found = fromtext(Path(path).read_text(encoding="utf-8"))
        mod = InferType()(found if isinstance(found, IRModule) else IRModule.from_expr(found))
        if not shape_dict:
            return mod, {}
        main = mod["main"]
        assert isinstance(main, Function), "a model's main is a function of Relay"
        weights = [p for p in main.params if p.name_hint not in shape_dict]
        rng = np.random.default_rng(0)
        return mod, {param.name_hint: _random(param.checked_type, rng) for param in weights}


class _WrittenAsOnnx(Frontend):
    """A framework whose models are read from the ONNX that `WRITER` makes of them."""

    WRITER: ClassVar[str]

    def load(self, path: str, shape_dict: Mapping[str, Any] | None = None, **kwargs: Any) -> Loaded:
        raise TVMCException(
            f"{self.name()} model '{path}' is not read itself; legal: ONNX, as {self.WRITER} writes"
        )


class KerasFrontend(_WrittenAsOnnx):
    """Keras."""

    SUFFIXES = ("h5",)
    WRITER = "tf2onnx or keras.Model.export"

    @staticmethod
    def name() -> str:
        return "keras"


class TensorflowFrontend(_WrittenAsOnnx):
    """Graphs of TensorFlow."""

    SUFFIXES = ("pb",)
    WRITER = "tf2onnx"

    @staticmethod
    def name() -> str:
        return "pb"


class TFLiteFrontend(_WrittenAsOnnx):
    """TensorFlow Lite."""

    SUFFIXES = ("tflite",)
    WRITER = "tf2onnx --tflite"

    @staticmethod
    def name() -> str:
        return "tflite"


class PaddleFrontend(_WrittenAsOnnx):
    """PaddlePaddle."""

    SUFFIXES = ("pdmodel",)
    WRITER = "paddle2onnx"

    @staticmethod
    def name() -> str:
        return "paddle"


def _random(kind: Any, rng: np.random.Generator) -> Any:
    shape, dtype = [int(extent) for extent in kind.shape], str(kind.dtype)
    if dtype.startswith(("int", "uint", "bool")):
        return tensor(rng.integers(0, 2 if dtype == "bool" else 128, shape).astype(dtype))
    return tensor(rng.uniform(-1, 1, shape).astype(numpy_dtype(DataType(dtype))))


ALL_FRONTENDS: Final[tuple[type[Frontend], ...]] = (
    KerasFrontend, OnnxFrontend, TensorflowFrontend, TFLiteFrontend, PyTorchFrontend,
    PaddleFrontend, RelayFrontend,
)  # fmt: skip


def get_frontend_names() -> list[str]:
    """What `--model-format` takes."""
    return [one.name() for one in ALL_FRONTENDS]


def get_frontend_by_name(name: str) -> Frontend:
    """The frontend of a name."""
    for one in ALL_FRONTENDS:
        if one.name() == name:
            return one()
    legal = ", ".join(get_frontend_names())
    raise TVMCException(f"unrecognized frontend '{name}'. Choose from: {legal}")


def guess_frontend(path: str) -> Frontend:
    """The frontend of a file's suffix."""
    suffix = Path(path).suffix.lower().lstrip(".")
    for one in ALL_FRONTENDS:
        if suffix in one.suffixes():
            return one()
    raise TVMCException(
        f"failed to infer the model format of '{path}'. Please specify --model-format"
    )


def load_model(
    path: str,
    model_format: str | None = None,
    shape_dict: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> TVMCModel:
    """The model in a file, by its suffix or a format; what follows goes to the frontend."""
    reader = get_frontend_by_name(model_format) if model_format else guess_frontend(path)
    if not Path(path).is_file():
        raise TVMCException(f"Input file '{path}' doesn't exist")
    read: Callable[..., Loaded] = reader.load
    try:
        mod, params = read(path, shape_dict, **kwargs)
    except TVMCException:
        raise
    except Exception as error:  # what onnx and torch raise for damaged files has no common base
        raise TVMCException(f"{reader.name()} model '{path}': {error}") from error
    return TVMCModel(mod, params)
