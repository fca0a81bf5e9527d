"""Functions outside of Relax that a network calls: in a source file, or in an object.

    kernels = nn.SourceModule({"scale": lambda x, factor: nn.Tensor.placeholder(x.shape, x.dtype)},
                              source_code=Path("scale.cc"), source_format="cpp")
    y = kernels["scale"](x, 2.0)

Each symbol comes with a function that tells the results' shapes and dtypes; the symbol itself gets
the arguments, and then the tensors for results. It is exported in the convention of tvm_ffi
(`TVM_FFI_DLL_EXPORT_TYPED_FUNC`).
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tvm import relax as rx
from tvm.error import message
from tvm.ffi import library
from tvm.ir.module import IRModule
from tvm.runtime import Module, load_static_library
from tvm.runtime.linker import create_executable
from tvm.runtime.static_library import StaticLibrary
from tvm.support.scratch import scratch

from . import core
from .call import to_expr

SOURCES = {"cpp": ".cpp", "cu": ".cu"}
OUTPUTS = {"obj": ".o", "wasm": ".wasm"}


class ExternModule:
    """Functions outside, by symbol, each with what tells its results."""

    def __init__(self, symbols: dict[str, Callable[..., Any]]) -> None:
        self._symbols = symbols

    def __getitem__(self, func_name: str) -> Callable[..., Any]:
        """What calls the function `func_name` in the network that is being exported."""
        if func_name not in self._symbols:
            raise KeyError(
                message(f"the function {func_name!r} of an external module",
                        found=f"functions {', '.join(self._symbols)}", legal="one of them")
            )  # fmt: skip
        infer = self._symbols[func_name]

        def call(*args: Any) -> Any:
            from .exporter import Exporter

            given = [to_expr(arg, f"argument {i} of {func_name}") for i, arg in enumerate(args)]
            out = to_expr(infer(*args), f"the result of {func_name}").struct_info
            Exporter.current().add_used_module(self)
            return core.wrap_nested(rx.op.call_dps_packed(func_name, given, out), func_name)

        return call

    def load(self) -> Module:
        """The functions as a module of the runtime."""
        raise NotImplementedError  # abstract


class ObjectModule(ExternModule):
    """Functions in an object file (.o)."""

    def __init__(self, symbols: dict[str, Callable[..., Any]], filepath: Path) -> None:
        filepath = Path(filepath)
        if not filepath.is_file():
            raise ValueError(message("an object file", found=str(filepath), legal="a file"))
        super().__init__(symbols)
        self.filepath = filepath

    def load(self) -> Module:
        """The object as a module that is linked when the network is exported."""
        return load_static_library(str(self.filepath), func_names=list(self._symbols))


class SourceModule(ExternModule):
    """Functions in C++ or CUDA, compiled when the network is."""

    def __init__(
        self,
        symbols: dict[str, Callable[..., Any]],
        source_code: str | Path,
        source_format: str,
        compile_options: list[str] | None = None,
        compiler: str | None = None,
        output_format: str = "obj",
    ) -> None:
        for what, given, legal in (
            ("source_format", source_format, SOURCES),
            ("output_format", output_format, OUTPUTS),
        ):
            if given not in legal:
                raise ValueError(
                    message(f"SourceModule: {what}", found=repr(given),
                            legal=", ".join(map(repr, legal)))
                )  # fmt: skip
        super().__init__(symbols)
        self.source_code = _text(source_code)
        self.source_format = source_format
        self.source_suffix = SOURCES[source_format]
        self.output_suffix = OUTPUTS[output_format]
        self.compiler = compiler or _compiler(source_format)
        if compile_options is None:
            compile_options = SourceModule.get_compile_options(source_format)
        self.compile_options = list(compile_options)

    @staticmethod
    def tvm_home() -> Path:
        """Where sources of TVM are: the environment's TVM_HOME, or where this package lies."""
        home = os.environ.get("TVM_HOME")
        found = Path(home) if home else Path(__file__).resolve().parents[3]
        if not found.is_dir():
            raise ValueError(message("TVM_HOME", found=str(found), legal="a folder"))
        return found

    @staticmethod
    def get_includes(tvm_pkg: list[str] | None = None) -> list[Path]:
        """Folders of headers: those of tvm_ffi and DLPack, and `tvm_pkg` under `3rdparty`."""
        ffi = library().libinfo
        found = [Path(ffi.find_include_path()), Path(ffi.find_dlpack_include_path())]
        home = SourceModule.tvm_home()
        found += [home / "3rdparty" / name for name in tvm_pkg or ()]
        missing = [path for path in found if not path.exists()]
        if missing:
            raise ValueError(
                message("folders of headers", found=f"no {missing[0]}", legal="folders")
            )
        return found

    @staticmethod
    def get_compile_options(source_format: str, tvm_pkg: list[str] | None = None) -> list[str]:
        """Options for the compiler of a format: standard, optimisation, headers."""
        includes = [f"-I{path}" for path in SourceModule.get_includes(tvm_pkg)]
        if source_format == "cpp":
            return ["-c", "-O3", "-std=c++17", "-fPIC", *includes]
        if source_format == "cu":
            return ["-c", "-O3", "-std=c++17", "-Xcompiler=-fPIC", *includes]
        raise ValueError(
            message("SourceModule: source_format", found=repr(source_format),
                    legal=", ".join(map(repr, SOURCES)))
        )  # fmt: skip

    def compile(self, output_path: Path) -> None:
        """Compile the source into an object at `output_path`."""
        output = Path(output_path)
        with scratch("tvm-extern-") as folder:
            source = Path(folder) / f"main{self.source_suffix}"
            made = Path(folder) / f"main{self.output_suffix}"
            source.write_text(self.source_code, encoding="utf-8")
            create_executable(str(made), str(source), self.compile_options, self.compiler)
            shutil.move(str(made), str(output))

    def load(self) -> Module:
        """The compiled functions as a module that is linked when the network is exported."""
        with scratch("tvm-extern-") as folder:
            made = Path(folder) / f"main{self.output_suffix}"
            self.compile(made)
            return StaticLibrary(str(made), list(self._symbols))


def _text(source: str | Path) -> str:
    """A source, or the text of the file that it names."""
    if isinstance(source, Path) or ("\n" not in source and Path(source).is_file()):
        path = Path(source)
        if not path.is_file():
            raise ValueError(message("a source file", found=str(path), legal="a file"))
        return path.read_text(encoding="utf-8")
    return source


def _compiler(source_format: str) -> str:
    if source_format == "cu":
        return "nvcc"
    return os.environ.get("CXX") or ("clang++" if sys.platform == "darwin" else "g++")


def attach(mod: IRModule, modules: Sequence[ExternModule]) -> IRModule:
    """The module with those outside among its external modules, which are linked in."""
    if not modules:
        return mod
    before: Any = mod.attrs.get("external_mods", ()) if mod.attrs else ()
    loaded = [module.load() if isinstance(module, ExternModule) else module for module in modules]
    return mod.with_attr("external_mods", [*before, *loaded])
