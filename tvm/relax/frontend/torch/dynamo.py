"""`torch.compile`: a backend that runs graphs compiled here; and the graphs as modules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.tir.expr import Var

from .fx_translator import from_fx


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
        graph_module.graph.eliminate_dead_code()
        return _compiled(graph_module, example_inputs, pipeline)

    return backend


def _compiled(graph_module: Any, examples: Sequence[Any], pipeline: Any) -> Callable[..., Any]:
    """The graph as a function from tensors of torch to tensors of torch."""
    import torch

    from tvm import runtime, target
    from tvm.relax.pipeline import get_pipeline
    from tvm.relax.vm import VirtualMachine
    from tvm.relax.vm_build import build

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

    def run(*given: Any) -> Any:
        tensors = [arg for arg in given if isinstance(arg, torch.Tensor)]
        return _to_torch(vm["main"](*(_to_tvm(tensor) for tensor in tensors)))

    return run


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
        graph_module.graph.eliminate_dead_code()
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
