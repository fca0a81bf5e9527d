"""A graph run kernel by kernel, so that what lies between kernels can be looked at and timed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_hash
from tvm.relax.vm import VirtualMachine
from tvm.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.op.relations import extents
from tvm.runtime.artefact import ValueInfo
from tvm.runtime.benchmark import BenchmarkResult, Timing, evaluator
from tvm.runtime.graph_runtime import GraphRuntime, flat_outputs
from tvm.support.json_text import from_json

from .compiled import compile_module
from .graph_plan_memory import flat_types, outside_kernels


class DebugRuntime(GraphRuntime):
    """The state of a graph; each node's kernel is compiled on its own when it is first needed."""

    def __init__(
        self, kernels: Function, graph_json: str, target: Any, params: list[ValueInfo],
        device: Any, values: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._kernels = kernels
        self._order: list[RelaxExpr] = list(outside_kernels(kernels))
        self.nodes: list[dict[str, Any]] = from_json(graph_json)["nodes"]
        heads = from_json(graph_json)["heads"]
        super().__init__(self._run_all, params, len(heads), device)
        self.inputs = [values.get(param.name) for param in params]
        self._target = target
        self._ready: dict[int, Callable[..., Any]] = {}
        self._found: dict[int, Any] = {}
        self.calls: list[Call] = [e for e in self._order if isinstance(e, Call)]
        self._functions.update(
            debug_get_output=self.debug_get_output, execute_node=self.execute_node,
            get_node_output=self.node_outputs,
        )  # fmt: skip

    def _run_all(self, *inputs: Any) -> Any:
        self._found = {}
        names = {param.name: value for param, value in zip(self.params, inputs)}
        for expr in self._order:
            if isinstance(expr, Var):
                self._found[id(expr)] = names.get(expr.name_hint)
            elif isinstance(expr, Constant):
                self._found[id(expr)] = expr.data
            elif isinstance(expr, Tuple):
                self._found[id(expr)] = [self._found[id(field)] for field in expr.fields]
            elif isinstance(expr, TupleGetItem):
                self._found[id(expr)] = self._found[id(expr.tuple_value)][expr.index]
            elif isinstance(expr, Call):
                self._found[id(expr)] = self._kernel(expr)()
        return self._found[id(self._kernels.body)]

    def _kernel(self, call: Call) -> Callable[[], Any]:
        """The kernel of a call on the values that its operands have now."""
        given = [arg for arg in call.args if not isinstance(arg, Constant)]
        if id(call) not in self._ready:
            made = {id(arg): Var(f"p{at}", _type(arg)) for at, arg in enumerate(given)}
            body = Call(call.op, [made.get(id(arg), arg) for arg in call.args], call.attrs)
            mod = IRModule.from_expr(Function(list(made.values()), body))
            machine = VirtualMachine(compile_module(mod, self._target), self.device)
            self._ready[id(call)] = machine["main"]
        distinct = {id(arg): arg for arg in given}
        values = [_as_argument(self._found[id(arg)]) for arg in distinct.values()]
        return lambda: self._ready[id(call)](*values)

    def index_of(self, node: int | str) -> int:
        """The number of a node, by number or name."""
        names = [entry["name"] for entry in self.nodes]
        if isinstance(node, str) and node in names:
            return names.index(node)
        if isinstance(node, int) and 0 <= node < len(names):
            return node
        raise TVMError(message(f"no node {node!r}", legal=", ".join(names)))

    def _call_at(self, at: int) -> Call | None:
        """The call of a node; None for inputs."""
        if self.nodes[at]["op"] == "null":
            return None
        before = [entry for entry in self.nodes[:at] if entry["op"] != "null"]
        return self.calls[len(before)]

    def node_outputs(self, node: int | str) -> list[Any]:
        """What a node gave in the last run, one tensor or more."""
        at = self.index_of(node)
        call = self._call_at(at)
        if call is None:
            return [self.get_input(str(self.nodes[at]["name"]))]
        if id(call) not in self._found:
            self.run()
        return flat_outputs(self._found[id(call)])

    def debug_get_output(self, node: int | str, out: Any = None) -> Any:
        """The first output of a node; copied into `out` if it is given."""
        found = self.node_outputs(node)[0]
        return found if out is None else found.copyto(out)

    def execute_node(self, node: int | str) -> Any:
        """Run one node again on what its operands were in the last run."""
        return self._ready_call(node)()

    def _ready_call(self, node: int | str) -> Callable[[], Any]:
        call = self._call_at(self.index_of(node))
        if call is None:
            return lambda: None
        if id(call) not in self._found:
            self.run()
        return self._kernel(call)

    def about_node(self, node: int | str) -> dict[str, str]:
        """What a report says of a node: its operands' types, and its kernel by structure."""
        call = self._call_at(self.index_of(node))
        if call is None:
            return {}
        kinds = [kind for part in (*call.args, call) for kind in flat_types(_type(part))]
        shown = ", ".join(f"{kind.dtype}{list(extents(kind))}" for kind in kinds)
        return {"Argument Shapes": shown, "Hash": f"{structural_hash(call.op):016x}"}

    def time_node(self, node: int | str, timing: Timing) -> BenchmarkResult | None:
        """How long a node takes; None for inputs."""
        if self._call_at(self.index_of(node)) is None:
            return None
        return evaluator(self._ready_call(node), self.device, timing)()


def _type(expr: RelaxExpr) -> Any:
    return expr.checked_type_


def _as_argument(value: Any) -> Any:
    return value if hasattr(value, "numpy") else tuple(_as_argument(field) for field in value)
