"""`torch.compile`: a backend that runs graphs compiled here; and the graphs as modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NoReturn

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.tir.expr import Var

from .base_fx_graph_translator import target_name
from .dynamo_gradients import memory_of, records_gradients, with_gradients
from .dynamo_views import fake_memory, with_views
from .exported_program_translator import ExportedProgramImporter
from .fx_translator import WRITING, from_fx
from .inner_graphs import has_inner_graphs
from .inplace import FRESH

# the last one: functions of numpy, on tensors
_TRACED_ANEW: Final = ("torch._C._functorch", "torch._functorch", "torch._dynamo.utils")


def device_from_inputs(example_inputs: Sequence[Any]) -> Any:
    """The device of the first input that has one, or None."""
    for given in example_inputs:
        if hasattr(given, "device"):
            return given.device
    return None


def relax_dynamo(pipeline: Any = None) -> Callable[[Any, Sequence[Any]], Callable[..., Any]]:
    """A backend for `torch.compile(model, backend=relax_dynamo())`.

    `pipeline` is a pass, or the name of a pipeline (see `tvm.relax.get_pipeline`).
    """

    def backend(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        import torch

        if not isinstance(graph_module, torch.fx.GraphModule):
            raise TypeError(
                message(
                    "relax_dynamo: the graph",
                    found=type(graph_module).__name__,
                    legal="a torch.fx.GraphModule, which torch.compile hands over",
                )
            )
        def make(graph: Any, examples: Sequence[Any]) -> Callable[..., Any]:
            return _compiled(graph, examples, pipeline)

        _fixed_numbers(graph_module)
        writes = [node for node in graph_module.graph.nodes if _is_write(node)]
        open_numbers = _open_numbers(graph_module)
        try:
            if records_gradients(graph_module, example_inputs):
                return with_gradients(graph_module, example_inputs, make, bool(open_numbers))
            if any(_is_shared(node) for node in writes) or _is_traced_anew(graph_module):
                return _functional(graph_module, example_inputs, pipeline)
            _alive(graph_module)
            return _compiled(graph_module, example_inputs, pipeline)
        except Exception:  # whatever an operator says that asks for a number
            if not open_numbers:
                raise
        _fix(open_numbers)

    return backend


def relax(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    """What `torch.compile(model, backend="relax")` finds by its entry point."""
    return relax_dynamo()(graph_module, example_inputs)


def _fixed_numbers(graph_module: Any) -> None:
    """Write a number of the model (`eps` of a norm) as it is where torch has fixed it.

    With `dynamic=True` torch passes such a number as a tensor and reads it by `item()`; where an
    operator needs it, torch has put a guard on its value, and compiles anew for another one.
    """
    for node in graph_module.graph.nodes:
        known = getattr(node.meta.get("example_value"), "node", None)
        expr: Any = getattr(known, "expr", None)
        if node.op != "call_method" or node.target != "item" or not getattr(expr, "is_number", 0):
            continue
        value = int(expr) if expr.is_Integer else float(expr)
        for user in list(node.users):
            user.args, user.kwargs = _with_value(user.args, node, value), {
                name: _with_value(given, node, value) for name, given in user.kwargs.items()
            }


def _open_numbers(graph_module: Any) -> list[str]:
    """Torch's names of the numbers of a model that no guard fixes."""
    values = (node.meta.get("example_value") for node in graph_module.graph.nodes)
    symbols = (getattr(getattr(value, "node", None), "expr", None) for value in values)
    found = {str(s) for expr in symbols for s in getattr(expr, "free_symbols", ())}
    return sorted(name for name in found if name.startswith("zf"))


def _fix(names: Sequence[str]) -> NoReturn:
    """Have torch trace anew, with guards on the values of these numbers, as its compiler has."""
    fixed: Any = import_module("torch._dynamo.symbolic_convert").TensorifyState
    for name in names:
        fixed.specialize(name)
    raise import_module("torch._dynamo.exc").TensorifyScalarRestartAnalysis


def _with_value(given: Any, node: Any, value: float) -> Any:
    """Arguments of a node, a number in another one's place."""
    if isinstance(given, (tuple, list)):
        parts = [_with_value(part, node, value) for part in given]
        return tuple(parts) if isinstance(given, tuple) else parts
    return value if given is node else given


def _alive(graph_module: Any) -> None:
    """Drop what nobody reads, but not what writes."""
    graph_module.graph.eliminate_dead_code(lambda node: node.is_impure() or _is_write(node))


def _is_write(node: Any) -> bool:
    """Whether a node's operator writes to a tensor that it is given."""
    if node.op not in ("call_function", "call_method"):
        return False
    name = target_name(node)
    inplace = name in WRITING or (name.endswith("_") and not name.endswith("__"))
    return inplace or bool(node.kwargs.get("inplace")) or node.kwargs.get("out") is not None


def _is_traced_anew(graph_module: Any) -> bool:
    """Whether torch traces a part of the graph anew: `autocast`, `vmap`, numpy, graphs within."""
    import torch

    higher: Any = torch._ops.HigherOrderOperator
    nodes = [node for node in graph_module.graph.nodes if node.op == "call_function"]
    return has_inner_graphs(graph_module) or any(
        (target_name(node) == "_enter_autocast" and node.args[2])
        or isinstance(node.target, higher)
        or str(getattr(node.target, "__module__", "")).startswith(_TRACED_ANEW)
        for node in nodes
    )


def _is_shared(node: Any) -> bool:
    """Whether others may see a write: through an input, or a view made before."""
    if node.kwargs.get("out") is not None or target_name(node) == "setitem":
        return True
    root = node.args[0] if node.args else node.kwargs.get("input")
    same = []
    while getattr(root, "op", None) in ("call_function", "call_method"):
        same.append(root)
        if target_name(root) in FRESH and not _is_write(root):
            readers = [user for one in same for user in one.users if user is not node]
            return not all(
                user > node or target_name(user) in FRESH or _is_write(user) for user in readers
            )
        if not _is_write(root):
            return True
        root = root.args[0] if root.args else None
    return True


def _functional(graph_module: Any, examples: Sequence[Any], pipeline: Any) -> Callable[..., Any]:
    """The graph with its writes turned into results by torch, which stores them afterwards."""
    common: Any = import_module("torch._dynamo.backends.common")
    boxed: Any = import_module("functorch.compile").make_boxed_func

    real: Any = import_module("torch._subclasses.fake_tensor").unset_fake_temporarily

    def forward(graph: Any, inputs: Sequence[Any]) -> Any:
        with real():  # constants of the graph are real tensors
            return boxed(_compiled(graph, inputs, pipeline))

    def backward(graph: Any, inputs: Sequence[Any]) -> Any:
        return boxed(graph.forward)

    made: Callable[..., Any] = common.aot_autograd(fw_compiler=forward, bw_compiler=backward)(
        graph_module, examples
    )
    return made


def _compiled(graph_module: Any, examples: Sequence[Any], pipeline: Any) -> Callable[..., Any]:
    """The graph as a function from tensors of torch to tensors of torch."""
    return with_views(graph_module, lambda graph: _computed(graph, examples, pipeline))


def _computed(graph_module: Any, examples: Sequence[Any], pipeline: Any) -> Callable[..., Any]:
    """The same, each result in memory of its own."""
    import torch

    from tvm import runtime, target
    from tvm.relax.pipeline import get_pipeline
    from tvm.relax.vm import VirtualMachine
    from tvm.relax.vm_build import build

    if has_inner_graphs(graph_module):
        mod = ExportedProgramImporter().from_graph(graph_module)
    else:
        mod = from_fx(graph_module, _input_info(_tensors(graph_module, examples)))
    device = device_from_inputs(examples)
    if device is not None and device.type == "cuda":
        dev = runtime.cuda(device.index or 0)
        goal = target.Target.from_device(dev)
    else:
        dev, goal = runtime.cpu(0), target.Target(llvm_target())
    passes = pipeline
    if pipeline is None or isinstance(pipeline, str):
        passes = get_pipeline(pipeline or "default")
    with goal:
        mod = passes(mod)
    vm = VirtualMachine(build(mod, goal), dev)
    given_memory, memory = _memories(graph_module)

    def run(*given: Any) -> Any:
        tensors = [arg for arg in given if isinstance(arg, torch.Tensor)]
        results = _to_torch(vm["main"](*(_to_tvm(tensor) for tensor in tensors)))
        parts = list(results) if isinstance(results, tuple) else [results]
        # a program may pass on what it has where a copy was asked for
        owners = {memory_of(tensor): given_memory for tensor in tensors}
        for number, (part, torchs) in enumerate(zip(parts, memory)):
            owner = owners.setdefault(memory_of(part), frozenset((torchs,)))
            if None not in (torchs, memory_of(part)) and torchs not in owner:
                parts[number] = part.clone()
        return tuple(parts) if isinstance(results, tuple) else parts[0]

    return run


def _memories(graph_module: Any) -> tuple[frozenset[Any], list[Any]]:
    """The memory of the inputs, and that of each result, as torch has followed it."""
    nodes = list(graph_module.graph.nodes)
    results = nodes[-1].args[0]
    given = frozenset(fake_memory(node) for node in nodes if node.op == "placeholder")
    flat = results if isinstance(results, (tuple, list)) else (results,)
    return given, [fake_memory(node) for node in flat]


def _to_tvm(tensor: Any) -> Any:
    from tvm import runtime

    return runtime.from_dlpack(tensor.detach().contiguous())


def _to_torch(value: Any) -> Any:
    import torch.utils.dlpack

    from tvm.runtime import Tensor

    if isinstance(value, Tensor):
        return torch.utils.dlpack.from_dlpack(value)
    if isinstance(value, (int, float)) or value is None:
        return value
    return tuple(_to_torch(part) for part in value)


def _tensors(graph_module: Any, examples: Sequence[Any]) -> list[Any]:
    """The graph's inputs that are tensors, with symbolic shapes where it has them."""
    import torch

    found = []
    placeholders = (node for node in graph_module.graph.nodes if node.op == "placeholder")
    for node, example in zip(placeholders, examples):
        if not isinstance(example, torch.Tensor):
            continue
        argument = node.meta.get("grapharg")
        fake = node.meta.get("example_value", getattr(argument, "fake_tensor", None))
        fake = node.meta.get("val") if fake is None else fake
        found.append(example if fake is None else fake)
    return found


def _input_info(tensors: Sequence[Any]) -> list[tuple[list[Any], str]]:
    """Shapes and data types; a symbolic extent is a variable with torch's name for it."""
    symbols: dict[str, Var] = {}

    def extent(size: Any) -> Any:
        if isinstance(size, int):
            return size
        name = str(size)
        return int(name) if name.isdigit() else symbols.setdefault(name, Var(name, "int64"))

    return [([extent(size) for size in t.shape], str(t.dtype)) for t in tensors]


def dynamo_capture_subgraphs(model: Any, *params: Any, **kwargs: Any) -> IRModule:
    """The graphs that torch finds in a model while it runs: functions `subgraph_0`, ...

    `params` and `kwargs` are the model's inputs; `keep_params_as_input` is as in `from_fx`.
    """
    torch: Any = import_module("torch")
    keep_params = bool(kwargs.pop("keep_params_as_input", False))
    mod = IRModule()

    def capture(graph_module: Any, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        _alive(graph_module)
        made = from_fx(
            graph_module,
            _input_info(_tensors(graph_module, example_inputs)),
            keep_params_as_input=keep_params,
            unwrap_unit_return_tuple=True,
        )
        name = f"subgraph_{len(mod.get_global_vars())}"
        mod[name] = made["main"].with_attr("global_symbol", name)
        forward: Callable[..., Any] = graph_module.forward
        return forward

    import_module("torch._dynamo").reset()
    with torch.no_grad():
        torch.compile(model, backend=capture)(*params, **kwargs)
    return mod


@functools.cache
def llvm_target() -> str:
    """The host, as a target."""
    return "llvm"
