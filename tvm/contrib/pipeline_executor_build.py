"""Several modules of Relay as stages of a pipeline: how they are connected, and their build.

    config = PipelineConfig()
    config["input"]["a"].connect(config[first]["input"]["data_0"])
    config[first]["output"][0].connect(config[second]["input"]["data_0"])
    config[second]["output"][0].connect(config["output"]["0"])
    factory = build(config)

`tvm.contrib.pipeline_executor` runs what `build` gives.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tvm.ir.module import IRModule
from tvm.ir.type import TupleType
from tvm.relay.function import Function
from tvm.relay.transform.infer_type import typed
from tvm.runtime import Device, cpu

GLOBAL: Final = ("input", "output", "param_group")  # what the pipeline has beside its modules
_LEGAL: Final = (
    'legal: config["input"][name] to inputs of modules, outputs of modules to inputs of others or '
    'to config["output"][number], config["param_group"][name] to config[module]["param"]'
)


def pipeline_executor_build_enabled() -> bool:
    """True: pipelines are part of this package."""
    return True


class Binding:
    """An input, an output or the parameters: of a module, or of the whole pipeline."""

    def __init__(self, owner: ModuleWrapper | PipelineConfig, kind: str, name: str) -> None:
        self.owner = owner
        self.kind = kind  # "input", "output", "param", "param_group"
        self.name = name
        self.bindings: list[Binding] = []  # where it goes
        self.parents: list[Binding] = []  # where it comes from

    def is_pipeline_executor_interface(self) -> bool:
        """Whether it belongs to the whole pipeline."""
        return isinstance(self.owner, PipelineConfig)

    def get_owner_idx(self) -> int:
        """The number of the module; -1 for the pipeline."""
        return self.owner.idx if isinstance(self.owner, ModuleWrapper) else -1

    def get_name(self) -> tuple[str, str]:
        """The owner's name and its own."""
        index = self.get_owner_idx()
        return ("" if index < 0 else f"mod{index}"), self.name

    def connect(self, binding: Binding) -> None:
        """Have what this one gives go to another; RuntimeError for what cannot be."""
        if not isinstance(binding, Binding):
            raise RuntimeError(f"{self} is connected to a {type(binding).__name__}; {_LEGAL}")
        if self.owner is binding.owner:
            raise self._refused(binding, "both belong to one module")
        if (self._side(), binding._side()) not in _WAYS:
            raise self._refused(binding, "nothing flows that way")
        if binding.parents:
            raise self._refused(binding, f"{binding} comes from {binding.parents[0]} already")
        if self.kind in ("input", "param_group") and self.bindings:
            raise self._refused(binding, f"{self} goes to {self.bindings[0]} already")
        self.bindings.append(binding)
        binding.parents.append(self)
        if isinstance(self.owner, ModuleWrapper) and self.owner.reaches(self.owner):
            self.bindings.pop()
            binding.parents.pop()
            raise self._refused(binding, "the modules would need each other")

    def _side(self) -> tuple[bool, str]:
        return self.is_pipeline_executor_interface(), self.kind

    def _refused(self, other: Binding, why: str) -> RuntimeError:
        return RuntimeError(f"{self} cannot be connected to {other}: {why}; {_LEGAL}")

    def __str__(self) -> str:
        owner, name = self.get_name()
        return f"{owner or 'pipeline'} {self.kind} {name}"


_WAYS: Final = frozenset((
    ((True, "input"), (False, "input")),
    ((False, "output"), (False, "input")),
    ((False, "output"), (True, "output")),
    ((True, "param_group"), (False, "param")),
))  # fmt: skip


class BindingList:
    """The inputs, or the outputs, of a module or of the pipeline."""

    def __init__(
        self, owner: ModuleWrapper | PipelineConfig, kind: str, names: list[str] | None = None
    ) -> None:
        self.owner, self.kind, self.names = owner, kind, names  # names: None takes any
        self.bindings: dict[str, Binding] = {}

    def __getitem__(self, key: int | str) -> Binding:
        name = str(key)
        if self.names is not None and name not in self.names:
            raise RuntimeError(
                f"Can't find {name} in {self.kind}; legal: {', '.join(self.names) or 'nothing'}"
            )
        if name not in self.bindings:
            self.bindings[name] = Binding(self.owner, self.kind, name)
        return self.bindings[name]

    def connected(self) -> Iterator[Binding]:
        """Those that go anywhere."""
        return (b for b in self.bindings.values() if b.bindings)


class ModuleWrapper:
    """A module of Relay as a stage, with what it is built for."""

    def __init__(self, mod: IRModule, index: int) -> None:
        self.mod = mod
        self.idx = index
        self.target: Any = None
        self.target_host: Any = None
        self.dev: Device = cpu(0)
        self.build_func: Callable[..., Any] | None = None
        self.params: Mapping[str, Any] | None = None
        self.fcompile: Callable[..., Any] | None = None
        self.export_cc: str | None = None
        self.cpu_affinity = ""
        main = typed(mod)["main"]
        assert isinstance(main, Function), "main is a function of Relay"
        result: Any = main.ret_type
        count = len(result.fields) if isinstance(result, TupleType) else 1
        self.input_bindings = BindingList(self, "input", [p.name_hint for p in main.params])
        self.output_bindings = BindingList(self, "output", [str(at) for at in range(count)])
        self.param_binding = Binding(self, "param", "param")

    def __getitem__(self, key: str) -> Any:
        found = {
            "input": self.input_bindings, "output": self.output_bindings,
            "param": self.param_binding,
        }.get(key)  # fmt: skip
        if found is None:
            raise RuntimeError(f"{key} not found!; legal: 'input', 'output', 'param'")
        return found

    def next_modules(self) -> list[ModuleWrapper]:
        """The modules that read its outputs."""
        found = [b.owner for out in self.output_bindings.connected() for b in out.bindings]
        return [owner for owner in found if isinstance(owner, ModuleWrapper)]

    def reaches(self, other: ModuleWrapper) -> bool:
        """Whether what it gives arrives at another module, or comes back."""
        stack, seen = self.next_modules(), set[int]()
        while stack:
            module = stack.pop()
            if module is other:
                return True
            if id(module) not in seen:
                seen.add(id(module))
                stack += module.next_modules()
        return False


class PipelineConfig:
    """The modules of a pipeline, and what goes where."""

    def __init__(self) -> None:
        self.mod_wrapper: dict[int, ModuleWrapper] = {}  # by the modules' ids
        self.input_bindings = BindingList(self, "input")
        self.output_bindings = BindingList(self, "output")
        self.param_group_bindings = BindingList(self, "param_group")

    def __getitem__(self, key: Any) -> Any:
        """The stage of a module, or "input", "output" or "param_group" of the pipeline."""
        if isinstance(key, IRModule):
            if id(key) not in self.mod_wrapper:
                self.mod_wrapper[id(key)] = ModuleWrapper(key, len(self.mod_wrapper))
            return self.mod_wrapper[id(key)]
        if key not in GLOBAL:
            raise RuntimeError(f"{key} not found; legal: modules of Relay, {', '.join(GLOBAL)}")
        return getattr(self, f"{key}_bindings")

    def dag_topology_sort(self) -> None:
        """Number the modules so that each comes behind those that it reads from."""
        modules = list(self.mod_wrapper.values())
        done: list[ModuleWrapper] = []
        while len(done) < len(modules):
            rest = [m for m in modules if m not in done]
            read = {id(n) for m in rest for n in m.next_modules()}
            done += [m for m in rest if id(m) not in read]
        for index, module in enumerate(done):
            module.idx = index
        self.mod_wrapper = {id(module.mod): module for module in done}

    def get_config(self) -> dict[str, Any]:
        """All of it as dictionaries: of the modules, of inputs and of groups of parameters."""
        self.dag_topology_sort()
        modules = {m.mod: _module_config(m) for m in self.mod_wrapper.values()}
        inputs = [
            {
                "global_interface_name": given.name,
                "mod_idx": given.bindings[0].get_owner_idx(),
                "module_interface_name": given.bindings[0].name,
            }
            for given in self.input_bindings.connected()
        ]
        params = [
            {"global_param_name": given.name, "mod_idx": given.bindings[0].get_owner_idx()}
            for given in self.param_group_bindings.connected()
        ]
        return {
            "module_connection": modules, "input_connection": inputs, "param_connection": params,
        }  # fmt: skip

    def __str__(self) -> str:
        self.dag_topology_sort()
        outs = [b for m in self.mod_wrapper.values() for b in m.output_bindings.connected()]
        ends = [(out, to) for out in outs for to in out.bindings]
        lines = ["Params"]
        for given in self.param_group_bindings.connected():
            lines.append(f"  |{given.name}: mod{given.bindings[0].get_owner_idx()}:param")
        lines += ["", "Inputs"]
        for given in self.input_bindings.connected():
            owner, name = given.bindings[0].get_name()
            lines.append(f"  |{given.name}: {owner}:{name}")
        lines += ["", "output"]
        results = [(o, to) for o, to in ends if to.is_pipeline_executor_interface()]
        for out, to in sorted(results, key=lambda pair: int(pair[1].name)):
            lines.append(f"  |output({to.name}) : {out.get_name()[0]}.output({out.name})")
        lines += ["", "connections"]
        for out, to in ends:
            if not to.is_pipeline_executor_interface():
                owner, name = to.get_name()
                lines.append(f"  |{out.get_name()[0]}.output({out.name})-> {owner}.{name}")
        return "\n".join(lines) + "\n"


def _module_config(module: ModuleWrapper) -> dict[str, Any]:
    outputs = [
        {"output_idx": int(out.name), "dependencies": [_dependency(to) for to in out.bindings]}
        for out in module.output_bindings.bindings.values()
    ]
    return {
        "pipeline": {
            "mod_idx": module.idx, "cpu_affinity": module.cpu_affinity, "output": outputs,
        },
        "target_host": module.target_host, "mod_name": "default", "build": module.build_func,
        "params": module.params, "target": module.target, "fcompile": module.fcompile,
        "dev": module.dev, "export_cc": module.export_cc,
    }  # fmt: skip


def _dependency(to: Binding) -> dict[str, Any]:
    if to.is_pipeline_executor_interface():
        return {"global_output_index": int(to.name)}
    return {"mod_idx": to.get_owner_idx(), "input_name": to.name}


def build(pipe_configs: PipelineConfig) -> PipelineExecutorFactoryModule:
    """The modules built, each for its target, with the connections between them."""
    from tvm.relay.build_module import build as relay_build

    config = pipe_configs.get_config()
    libraries: dict[int, dict[str, Any]] = {}
    texts: list[dict[str, Any]] = []
    for mod, told in config["module_connection"].items():
        pipeline = told["pipeline"]
        make = told["build"] or relay_build
        lib = make(
            mod, told["target"], target_host=told["target_host"], params=told["params"],
            mod_name=told["mod_name"],
        )  # fmt: skip
        device = told["dev"]
        texts.append({**pipeline, "dev": f"{int(device.device_type)},{device.device_id}"})
        libraries[pipeline["mod_idx"]] = {
            "lib": lib, "dev": device, "fcompile": told["fcompile"], "export_cc": told["export_cc"],
        }  # fmt: skip
    mods_config = {
        "module_connection": texts,
        "input_connection": config["input_connection"],
        "param_connection": config["param_connection"],
    }
    return PipelineExecutorFactoryModule(libraries, mods_config)


class PipelineExecutorFactoryModule:
    """What was built: a library a module, and the connections as numbers and names."""

    def __init__(
        self, pipeline_mods: dict[int, dict[str, Any]], mods_config: dict[str, Any]
    ) -> None:
        self.pipeline_mods = pipeline_mods
        self.mods_config = mods_config

    def export_library(self, directory_path: str) -> str:
        """Write libraries and connections into a folder; returns the file that names them all."""
        if not directory_path:
            raise RuntimeError("The directory path is not set; legal: a folder that exists")
        folder = Path(directory_path)
        if not folder.is_dir():
            raise RuntimeError(f"The directory {folder} does not exist; legal: one that does")
        listed = []
        for index, made in self.pipeline_mods.items():
            path = folder / f"lib{index}.so"
            options = {"cc": made["export_cc"]} if made["export_cc"] else {}
            args = [made["fcompile"]] if made["fcompile"] else []
            made["lib"].export_library(str(path), *args, **options)
            device = made["dev"]
            listed.append({
                "mod_idx": index, "lib_name": path.name,
                "dev": f"{int(device.device_type)},{device.device_id}",
            })  # fmt: skip
        _write(folder / "load_config", listed)
        _write(folder / "pipeline_config", self.mods_config)
        config = folder / "config"
        _write(config, {"load_config": "load_config", "pipeline_config": "pipeline_config"})
        return str(config)


def _write(path: Path, value: Any) -> None:
    """The value as JSON, beside first: no file is half written."""
    beside = path.with_name(f".{path.name}.part")
    beside.write_text(json.dumps(value), encoding="utf-8")
    os.replace(beside, path)
