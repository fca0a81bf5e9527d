"""A built module: its functions by the names that graph executors call."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import accumulate
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.relax.vm import VirtualMachine
from tvm.relay.expr import Call, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.relations import extents
from tvm.relay.transform.label_ops import label_of
from tvm.relay.traverse import children, post_order
from tvm.runtime.artefact import ValueInfo
from tvm.runtime.graph_runtime import GraphRuntime
from tvm.runtime.vm_executable import check_devices
from tvm.support.naming import NameTable

from .graph_plan_memory import flat_types, is_reshape_only, outside_kernels, planned
from .name_transforms import sanitize_name
from .utils import mangle_module_name


def count_outputs(found: Any) -> int:
    """How many tensors a type holds."""
    fields = getattr(found, "fields", None)
    return 1 if fields is None else sum(count_outputs(field) for field in fields)


def _info(param: Var) -> ValueInfo:
    """What is known of an input; extents that may be any are named."""
    found: Any = param.checked_type
    shape = [int(e.value) if hasattr(e, "value") else str(e) for e in found.shape]
    return ValueInfo(param.name_hint, tuple(shape), str(found.dtype))


class ExecutorFactoryModule:
    """What `relay.build` gives: call `["default"](device)` for a state to run."""

    def __init__(
        self,
        ir_mod: IRModule,
        target: Any,
        executor: Any,
        libmod: Any,
        libmod_name: str,
        params: Mapping[str, Any],
        function_metadata: Mapping[str, Any],
    ) -> None:
        self.ir_mod = ir_mod
        self.target = target
        self.executor = executor
        self.executable = libmod
        self.libmod_name = libmod_name
        self.params = dict(params)
        self.function_metadata = function_metadata
        self.iter_cnt = 0
        self.rebuild: Callable[[], ExecutorFactoryModule] | None = None

    @property
    def lib(self) -> Any:
        """The compiled library: this."""
        return self

    @property
    def module(self) -> Any:
        """The module itself, for scripts that look it up."""
        return self

    @property
    def function(self) -> Function:
        """The function that is run, with types."""
        main = self.ir_mod["main"]
        assert isinstance(main, Function), "main is a function of Relay"
        return main

    def __getitem__(self, name: str) -> Callable[..., Any]:
        functions = self._functions()
        if name not in functions:
            legal = ", ".join(repr(known) for known in functions)
            raise AttributeError(f"no function {name!r}; legal: {legal}")
        return functions[name]

    def _functions(self) -> dict[str, Callable[..., Any]]:
        return {self.libmod_name: self._runtime, "remove_params": self._without_params}

    def _without_params(self) -> ExecutorFactoryModule:
        """The module whose parameters are inputs: `load_params` of its states sets them."""
        if self.rebuild is None:
            raise TVMError(
                message(
                    "remove_params",
                    found="a module that was not built here",
                    legal="what relay.build returns",
                )
            )
        return self.rebuild()

    def __getattr__(self, name: str) -> Any:
        """What a library can be asked: its source, what it imports, its time."""
        if name.startswith("_") or name == "executable":
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(self.executable, name)

    def _runtime(self, *devices: Any) -> GraphRuntime:
        check_devices(self.executor.name, devices)
        device = devices[0]
        machine = VirtualMachine(self.executable, device)
        params = [_info(param) for param in self.function.params]
        outputs = count_outputs(self.function.ret_type)
        return GraphRuntime(
            machine["main"], params, outputs, device, self._bound(), self._graph(), self.params
        )

    def _graph(self) -> str:
        """The graph, where there is one: it lists inputs that are constants."""
        return ""

    def _bound(self) -> Mapping[str, str]:
        bound: Mapping[str, str] = self.executable.mod.artefact.graph.bound
        return bound

    def __iter__(self) -> Iterator[Any]:
        """Older scripts unpack what the executor is told, library and parameters."""
        return iter((self.get_executor_config(), self, self.params))

    def import_module(self, module: Any) -> None:
        """Have the library find the functions of another one, too."""
        library = module.executable if isinstance(module, ExecutorFactoryModule) else module
        self.executable.mod.import_module(getattr(library, "mod", library))

    def export_library(
        self, file_name: str, fcompile: Any = None, addons: Any = None, **kwargs: Any
    ) -> Any:
        """Write the executable as a library; `load_module(file)["default"](device)` runs it."""
        return self.executable.export_library(
            file_name, fcompile=fcompile, addons=addons, **kwargs
        )

    def save(self, file_name: str, fmt: str = "") -> None:
        """Write the kernels as an object, or as source of one of their formats."""
        kernels = [m for m in self.executable.imported_modules if m.get_write_formats()]
        (kernels[0] if kernels else self.executable).write_to_file(file_name, fmt)

    def get_devices(self) -> list[str]:
        """Devices that the module names of its own: none."""
        return []

    def get_params(self) -> dict[str, Any]:
        """The parameters that were bound at the build."""
        return self.params

    def get_executor_config(self) -> Any:
        """What the executor is told."""
        raise NotImplementedError

    def get_lib(self) -> Any:
        """The compiled library."""
        return self


class GraphExecutorFactoryModule(ExecutorFactoryModule):
    """A program as a graph of kernels."""

    def __init__(
        self,
        ir_mod: IRModule,
        target: Any,
        executor: Any,
        graph_json_str: str,
        libmod: Any,
        libmod_name: str,
        params: Mapping[str, Any],
        function_metadata: Mapping[str, Any],
    ) -> None:
        super().__init__(ir_mod, target, executor, libmod, libmod_name, params, function_metadata)
        self.graph_json_str = graph_json_str
        self.kernels: Function | None = None

    def _functions(self) -> dict[str, Callable[..., Any]]:
        more: dict[str, Callable[..., Any]] = {
            "get_graph_json": self.get_graph_json,
            "debug_create": lambda name, *devices: self._debug_runtime(devices[0]),
        }
        return {**super()._functions(), **more}

    def _debug_runtime(self, device: Any) -> GraphRuntime:
        from .debug_runtime import DebugRuntime  # it compiles, and reads this module

        assert self.kernels is not None, "a build knows its kernels"
        params = [_info(param) for param in self.kernels.params]
        return DebugRuntime(
            self.kernels, self.graph_json_str, self.target, params, device, self.params
        )

    @property
    def graph_json(self) -> str:
        """The graph as JSON."""
        return self.graph_json_str

    def _graph(self) -> str:
        return self.graph_json_str

    def get_graph_json(self) -> str:
        """The graph as JSON: nodes, inputs and outputs."""
        return self.graph_json_str

    def get_executor_config(self) -> str:
        """What the executor is told: the graph."""
        return self.graph_json_str


def kernel_name(callee: RelaxExpr, mod_name: str) -> str:
    """The name of a kernel: the operators that are called in it, one after the other."""
    if isinstance(callee, Function):
        calls = [e.op for e in post_order(callee.body) if isinstance(e, Call)]
        parts = ["fused", *(op.name for op in calls if isinstance(op, Op))]
    else:
        parts = [getattr(callee, "name", "") or getattr(callee, "name_hint", "function")]
    return sanitize_name("_".join([mangle_module_name(mod_name), *parts]))


class KernelNames:
    """The names of kernels, each with one of its own; equal functions are one kernel."""

    def __init__(self, mod_name: str) -> None:
        self._mod_name = mod_name
        self._names = NameTable()
        self._known: dict[str, list[tuple[Function, str]]] = {}  # by what they begin with

    def of(self, callee: RelaxExpr) -> str:
        """The name of a kernel, the first time or again."""
        name = kernel_name(callee, self._mod_name)
        if not isinstance(callee, Function):
            return self._names.fresh(name)
        same = self._known.setdefault(name, [])
        found = next((own for func, own in same if structural_equal(func, callee)), None)
        if found is None:
            found = self._names.fresh(name)
            same.append((callee, found))
        return found


def graph_json(
    func: Function, mod_name: str = "default", kernels: Mapping[int, str] | None = None,
    late: Collection[str] = (),
) -> str:  # fmt: skip
    """The graph of a function as graph executors write it: a node a kernel, by the calls in it.

    `kernels` names the functions that calls run, by the calls' identities; parameters named in
    `late` were constants, and stand where they are read.
    """
    nodes: list[dict[str, Any]] = []
    values: list[RelaxExpr] = []
    names, known_kernels = NameTable(), KernelNames(mod_name)
    where: dict[int, list[list[int]]] = {}
    order = outside_kernels(func, late)
    for expr in order:
        parts = [entry for part in children(expr) for entry in where.get(id(part), [])]
        if isinstance(expr, Var):
            known = [at for at, node in enumerate(nodes) if node["name"] == expr.name_hint]
            if not known:
                nodes.append({"op": "null", "name": expr.name_hint, "inputs": []})
                values.append(expr)
            where[id(expr)] = [[known[0] if known else len(nodes) - 1, 0, 0]]
        elif isinstance(expr, TupleGetItem):
            source = where.get(id(expr.tuple_value), [])
            where[id(expr)] = [source[expr.index]] if expr.index < len(source) else source[:1]
        elif isinstance(expr, Call):
            count = count_outputs(expr.checked_type_)
            called = known_kernels.of(expr.op) if kernels is None else kernels[id(expr)]
            nothing = is_reshape_only(expr)
            name = names.fresh("reshape_nop" if nothing else called)
            attrs = {
                "func_name": "__nop" if nothing else called,
                "num_inputs": str(len(parts)), "num_outputs": str(count), "flatten_data": "0",
            }  # fmt: skip
            if isinstance(expr.op, Function):
                attrs["hash"] = label_of(expr.op)
            nodes.append({"op": "tvm_op", "name": name, "attrs": attrs, "inputs": parts})
            values.append(expr)
            where[id(expr)] = [[len(nodes) - 1, at, 0] for at in range(count)]
        elif isinstance(expr, Tuple):
            where[id(expr)] = parts
    counts = [count_outputs(value.checked_type_) for value in values]
    graph = {
        "nodes": nodes,
        "arg_nodes": [at for at, node in enumerate(nodes) if node["op"] == "null"],
        "heads": where.get(id(func.body), []),
        "attrs": _entries(func, order, values),
        "node_row_ptr": [0, *accumulate(counts)],
    }
    return json.dumps(graph, indent=2)


def _entries(
    func: Function, order: list[RelaxExpr], values: list[RelaxExpr]
) -> dict[str, list[Any]]:
    """What is known of every tensor: its type, and the storage that holds it."""
    plan = planned(func, order).expr_to_storage_info
    kinds = [kind for value in values for kind in flat_types(value.checked_type_)]
    held = [number for value in values for number in plan[value].storage_ids]
    shapes = [[e if isinstance(e, int) else -1 for e in extents(kind)] for kind in kinds]
    return {
        "dltype": ["list_str", [str(kind.dtype) for kind in kinds]],
        "device_index": ["list_int", [1] * len(kinds)],
        "storage_id": ["list_int", held],
        "shape": ["list_shape", shapes],
    }
