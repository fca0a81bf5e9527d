"""What `tvmc` passes from step to step: models, packages of compiled ones, results of runs."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from tvm.error import TVMError
from tvm.ir.json import load_json, save_json
from tvm.ir.module import IRModule
from tvm.relay.param_dict import load_param_dict, save_param_dict
from tvm.runtime.files import write_beside
from tvm.runtime.module import load_module

from .errors import TVMCException
from .result_utils import format_times

_MODULE: Final = "model.json"
_WEIGHTS: Final = "model.params"
_GRAPH: Final = "mod.json"
_PARAMS: Final = "mod.params"
_CODE: Final = ("mod.so", "mod.tar")
_BYTECODE: Final = "code.ro"
_VM_CODE: Final = ("lib.so", "lib.tar")


class TVMCModel:
    """A module of Relay with its parameters. `model_path` is a file that `save` wrote."""

    def __init__(
        self,
        mod: IRModule | None = None,
        params: Mapping[str, Any] | None = None,
        model_path: str | None = None,
    ) -> None:
        if model_path is not None:
            self.load(model_path)
        elif mod is None:
            raise TVMCException(
                "Either mod and params must be provided or a path to a previously saved TVMCModel"
            )
        else:
            self.mod: IRModule = mod
            self.params: dict[str, Any] = dict(params or {})
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def save(self, model_path: str) -> None:
        """Write the model, parameters included, to one file."""
        with tempfile.TemporaryDirectory() as folder:
            written = [Path(folder) / name for name in (_MODULE, _WEIGHTS)]
            written[0].write_text(save_json(self.mod), encoding="utf-8")
            written[1].write_bytes(save_param_dict(self.params))
            _write_tar(Path(model_path), written)

    def load(self, model_path: str) -> None:
        """Take the place of the model in a file."""
        with tempfile.TemporaryDirectory() as folder:
            files = _read_tar(Path(model_path), Path(folder))
            missing = [name for name in (_MODULE, _WEIGHTS) if name not in files]
            if missing:
                raise TVMCException(
                    f"'{model_path}' is no saved model: {missing[0]} is missing in it"
                )
            self.mod = _module(files[_MODULE].read_text(encoding="utf-8"))
            self.params = dict(load_param_dict(files[_WEIGHTS].read_bytes()))

    def _temporary(self, name: str) -> str:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory()
        return str(Path(self._folder.name) / name)

    def default_tuning_records_path(self) -> str:
        """Where `tvmc.tune` keeps records if no place was named; gone with the model."""
        return self._temporary("tuning_records")

    def default_package_path(self) -> str:
        """Where `tvmc.compile` writes if no place was named; gone with the model."""
        return self._temporary("model_package.tar")

    def summary(self, file: Any = None) -> None:
        """Print the program."""
        print(self.mod, file=file)

    def export_package(
        self,
        executor_factory: Any,
        package_path: str | None = None,
        cross: str | None = None,
        cross_options: str | None = None,
        output_format: str = "so",
    ) -> str:
        """Write a compiled module to a package: code, graph and parameters; the package's path.

        `output_format` is "so", a shared library by `cross` or the host's own compiler, or "tar",
        objects that are linked where they are loaded.
        """
        if output_format not in ("so", "tar"):
            raise TVMCException(f"output format {output_format!r}; legal: so, tar")
        path = Path(package_path or self.default_package_path())
        if not hasattr(executor_factory, "get_params"):
            return self.export_vm_format(
                executor_factory, path, cross, cross_options, output_format
            )
        with tempfile.TemporaryDirectory() as folder:
            code = Path(folder) / f"mod.{output_format}"
            linked = _linker(cross, cross_options)
            executor_factory.get_lib().export_library(str(code), **linked)
            params = Path(folder) / _PARAMS
            params.write_bytes(save_param_dict(executor_factory.get_params()))
            files = [code, params]
            if hasattr(executor_factory, "get_graph_json"):
                files.append(Path(folder) / _GRAPH)
                files[-1].write_text(executor_factory.get_graph_json(), encoding="utf-8")
            _write_tar(path, files)
        return str(path)


    def export_vm_format(
        self,
        vm_exec: Any,
        package_path: str | Path | None = None,
        cross: str | None = None,
        cross_options: str | None = None,
        lib_format: str = "so",
    ) -> str:
        """Write a program of the virtual machine to a package: code and bytecode; its path."""
        path = Path(package_path or self.default_package_path())
        bytecode, library = vm_exec.save()
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"lib.{lib_format}", Path(folder) / _BYTECODE]
            library.export_library(str(files[0]), **_linker(cross, cross_options))
            files[1].write_bytes(bytecode)
            _write_tar(path, files)
        return str(path)


class TVMCPackage:
    """A package that `tvmc.compile` wrote: `lib_path`, `params` (bytes), `graph` (JSON).

    What is compiled for the executor "aot" has no graph; what is compiled for the virtual machine
    has bytecode, `code`, in place of both.
    """

    def __init__(self, package_path: str) -> None:
        self.package_path = str(package_path)
        self._folder = tempfile.TemporaryDirectory()
        self.import_package(self.package_path)

    def import_package(self, package_path: str) -> None:
        """Unpack the package into a folder that goes with this object."""
        files = _read_tar(Path(package_path), Path(self._folder.name))
        self.code: bytearray | None = None
        self.graph: str | None = None
        self.params: bytearray | None = None
        bare: list[str] = [name for name in _VM_CODE if name in files]
        if _BYTECODE in files and bare:
            self.type = self.executor_type = "vm"
            self.lib_name, self.lib_path = bare[0], str(files[bare[0]])
            self.code = bytearray(files[_BYTECODE].read_bytes())
            return
        code: list[str] = [name for name in _CODE if name in files]
        if _PARAMS not in files or not code:
            missing = _PARAMS if code else _CODE[0]
            raise TVMCException(
                f"'{package_path}' is no package of tvmc: {missing} is missing in it"
            )
        self.type = "classic"
        self.executor_type = "graph" if _GRAPH in files else "aot"
        self.lib_name = code[0]
        self.lib_path = str(files[code[0]])
        graph = files.get(_GRAPH)
        self.graph = None if graph is None else graph.read_text(encoding="utf-8")
        self.params = bytearray(files[_PARAMS].read_bytes())

    def load_lib(self) -> Any:
        """The library, in this process."""
        return load_module(self.lib_path)


class TVMCResult:
    """Outputs of a run by name (`output_0`, ...), and its times if they were measured."""

    def __init__(self, outputs: Mapping[str, Any], times: Any = None) -> None:
        self.outputs = dict(outputs)
        self.times = times

    def format_times(self) -> str:
        """The times as a table."""
        return format_times(self.times)

    def get_output(self, name: str) -> Any:
        """An output as an array; KeyError with the names for others."""
        if name not in self.outputs:
            raise KeyError(f"no output {name!r}; legal: {', '.join(self.outputs)}")
        return self.outputs[name]

    def save(self, output_path: str) -> None:
        """Write the outputs to a file of numpy arrays, .npz."""
        np.savez(output_path, **self.outputs)

    def __str__(self) -> str:
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"


def _module(text: str) -> IRModule:
    found = load_json(text)
    if not isinstance(found, IRModule):
        raise TVMCException(f"a saved model: found {type(found).__name__}; legal: a module")
    return found


def _linker(cross: str | None, cross_options: str | None) -> dict[str, Any]:
    """How the code is linked, for `export_library`."""
    if not cross:
        return {}
    from tvm.contrib.cc import cross_compiler

    return {"fcompile": cross_compiler(cross, options=(cross_options or "").split())}


def _write_tar(path: Path, files: list[Path]) -> None:
    """Write the archive beside its place, then put it there."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "archive.tar"
        with tarfile.open(made, "w") as archive:
            for file in files:
                archive.add(file, arcname=file.name)
        try:
            write_beside(path, made.read_bytes())
        except OSError as error:
            raise TVMCException(f"cannot write '{path}': {error}") from error


def _read_tar(path: Path, folder: Path) -> dict[str, Path]:
    """The plain files of an archive's top, unpacked into a folder, by name."""
    if not path.exists():
        raise TVMCException(f"'{path}' doesn't exist")
    files: dict[str, Path] = {}
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                name = member.name.removeprefix("./")
                content = archive.extractfile(member) if member.isfile() else None
                if content is None or "/" in name or "\\" in name:
                    continue
                files[name] = folder / name
                files[name].write_bytes(content.read())
    except (OSError, tarfile.TarError, TVMError) as error:
        raise TVMCException(f"'{path}' cannot be read: {error}") from error
    return files
