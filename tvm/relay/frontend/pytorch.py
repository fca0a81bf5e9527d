"""PyTorch models in Relay: traced modules, and modules or programs that torch exports.

traced = torch.jit.trace(model, torch.rand(1, 3, 224, 224))
mod, params = relay.frontend.from_pytorch(traced, [("input0", (1, 3, 224, 224))])
lib = relay.build(mod, "llvm", params=params)
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

from tvm import relax
from tvm.error import OpNotImplemented, message
from tvm.ir.module import IRModule
from tvm.relax.frontend.torch import from_exported_program
from tvm.relay.expr import Var
from tvm.relay.from_relax import from_relax
from tvm.relay.from_relax.translate import array_of, relay_type
from tvm.relay.ty import Any as AnyDim
from tvm.runtime import tensor
from tvm.tir.expr import IntImm

_TYPES = {
    "float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64",
    "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool", "bfloat16": "bfloat16",
}  # fmt: skip
_INPUTS = '(name, shape) or (name, (shape, dtype)), such as ("input0", (1, 3))'


def from_pytorch(
    script_module: Any,
    input_infos: Sequence[Any],
    custom_convert_map: Mapping[str, Any] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | None = None,
    preserve_pytorch_scopes: bool = False,
) -> tuple[IRModule, dict[str, Any]]:
    """A Relay module with a function `main`, and its parameters by torch's names.

    `script_module` is what `torch.jit.trace` or `script` gives, a module, or an exported program.
    `input_infos` says name and shape of each input, (name, shape) or (name, (shape, dtype));
    extents may be `relay.Any()`; types in a traced graph go before those given here. torch itself
    runs the module on such inputs to export it, so control flow that depends on values is not
    followed. With `use_parser_friendly_name` names of parameters have underscores for dots.
    `custom_convert_map` is refused, and the options behind `use_parser_friendly_name` change
    nothing: they concern TorchScript's own graph, which is not read.
    """
    if custom_convert_map:
        raise OpNotImplemented(
            message(
                "from_pytorch: custom_convert_map",
                found=", ".join(custom_convert_map),
                legal="none; torch.library gives an operator a decomposition",
            )
        )
    infos = _inputs(script_module, input_infos, default_dtype)
    program, prefix = _exported(script_module, infos)
    found = from_exported_program(program, keep_params_as_input=True, unwrap_unit_return_tuple=True)
    main = found["main"]
    assert isinstance(main, relax.Function), "the importer makes a function main"
    attrs: dict[str, Any] = dict(main.attrs.items())
    count = int(getattr(attrs["num_input"], "value", attrs["num_input"]))
    _check_open(main, infos)
    names = _parameter_names(program, prefix)
    made: list[Var] = []
    for at, param in enumerate(main.params):
        name = infos[at][0] if at < count else names.get(param.name_hint, param.name_hint)
        friendly = name.replace(".", "_") if use_parser_friendly_name else name
        made.append(Var(friendly, relay_type(param.struct_info)))
    values = attrs["params"]
    params = {var.name_hint: tensor(array_of(value)) for var, value in zip(made[count:], values)}
    return from_relax(found, {"main": made}), params


def _inputs(model: Any, infos: Any, default: str) -> list[tuple[str, list[Any], str]]:
    """Name, shape and type of each input; what a traced graph says of them is right."""
    if not isinstance(infos, list):
        raise RuntimeError(
            message(
                "Graph inputs input_infos should be a list",
                found=type(infos).__name__, legal=_INPUTS,
            )
        )  # fmt: skip
    found = [_input(at, info) for at, info in enumerate(infos)]
    known = list(model.graph.inputs())[1:] if hasattr(model, "inlined_graph") else None
    if known is not None and len(known) != len(found):
        raise RuntimeError(f"PyTorch has {len(known)} inputs and input_infos lists {len(found)}.")
    made = []
    for (name, shape, dtype), value in zip(found, known or [None] * len(found)):
        kind = None if value is None else value.type()
        if kind is not None and kind.kind() == "TensorType":
            sizes = kind.sizes()
            if sizes is not None and not _same_extents(shape, sizes):
                raise RuntimeError(
                    message(
                        "Shapes of input list and information in the graph do not match",
                        found=f"{name}: {tuple(shape)}", legal=f"{tuple(sizes)}, as it was traced",
                    )
                )  # fmt: skip
            dtype = _TYPES.get(str(kind.scalarType() or "").lower(), dtype)
        made.append((name, shape, dtype or default))
    return made


def _same_extents(asked: Sequence[Any], traced: Sequence[int]) -> bool:
    return len(asked) == len(traced) and all(
        isinstance(a, AnyDim) or int(a) == t for a, t in zip(asked, traced)
    )


def _input(at: int, info: Any) -> tuple[str, list[Any], str]:
    """Name, shape and type of an input; "" is the type that is not said."""
    if not isinstance(info, tuple):
        raise RuntimeError(
            message(f"Graph input {at} is not a tuple", found=repr(info), legal=_INPUTS)
        )
    if len(info) != 2 or not isinstance(info[0], str):
        raise RuntimeError(message(f"Graph input {info} is not valid", legal=_INPUTS))
    name, rest = info
    typed = len(rest) == 2 and isinstance(rest[0], (tuple, list)) and isinstance(rest[1], str)
    shape, dtype = rest if typed else (rest, "")
    if not isinstance(shape, (tuple, list)) or not all(
        isinstance(extent, (int, AnyDim)) for extent in shape
    ):
        raise RuntimeError(
            message("Shape for Tensors must be lists of ints", found=repr(shape), legal=_INPUTS)
        )
    return name, list(shape), _TYPES.get(dtype, dtype)


def _check_open(main: relax.Function, infos: Sequence[Any]) -> None:
    """Refuse a program in which torch gave an extent that may be any the number of its trial."""
    for (name, shape, _), param in zip(infos, main.params):
        extents = getattr(getattr(param.struct_info, "shape", None), "values", shape)
        for at, (asked, found) in enumerate(zip(shape, extents)):
            if isinstance(asked, AnyDim) and isinstance(found, IntImm):
                raise OpNotImplemented(
                    message(
                        f"from_pytorch: extent {at} of {name!r} may be any",
                        found=f"torch fixes it at {found.value} as it exports the model",
                        legal="a number there; a torch.nn.Module, other than what is traced, may "
                        "keep it open",
                    )
                )


def _exported(model: Any, infos: Sequence[Any]) -> tuple[Any, str]:
    """The exported program, and what its parameters' names begin with."""
    import torch

    if hasattr(model, "graph_signature"):
        return model, ""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(
            message(
                "from_pytorch: the model", found=type(model).__name__,
                legal="what torch.jit.trace gives, a torch.nn.Module, an exported program",
            )
        )  # fmt: skip
    dims, args = [], []
    for name, shape, dtype in infos:
        free = {at: torch.export.Dim.AUTO for at, e in enumerate(shape) if isinstance(e, AnyDim)}
        # No extent of 0 or 1 for those that may be any: torch takes these two for themselves.
        sizes = [7 + at if at in free else int(e) for at, e in enumerate(shape)]
        kind = getattr(torch, dtype, None)
        if kind is None:
            asked = f"from_pytorch: the type of {name!r}"
            raise TypeError(message(asked, found=dtype, legal="a type of torch"))
        args.append(torch.zeros(sizes, dtype=kind))
        dims.append(free or None)
    shapes = tuple(dims) if any(dims) else None
    # TorchScript's own optimizer would fold tensors of one element while torch watches the calls.
    jit: Any = torch.jit  # its types leave the name out
    scripted = isinstance(model, torch.jit.ScriptModule)
    try:
        with torch.no_grad(), jit.optimized_execution(False):
            program = torch.export.export(
                _held(_loaded(model) if scripted else model), tuple(args), strict=False,
                dynamic_shapes=None if shapes is None else (shapes,),
            )  # fmt: skip
    except RuntimeError as error:
        if scripted and "data-dependent" in str(error):
            raise OpNotImplemented(
                message(
                    "from_pytorch: control flow",
                    found="a branch or a loop that depends on values",
                    legal="conditions on shapes; torch.cond in a torch.nn.Module",
                )
            ) from error
        raise
    return program, "model."


def _loaded(model: Any) -> Any:
    """A TorchScript module as it is when loaded: its Python class, which torch would ask for what
    compiled methods are given, is away."""
    import torch

    file = io.BytesIO()
    torch.jit.save(model, file)
    file.seek(0)
    return torch.jit.load(file)


def _held(model: Any) -> Any:
    """A module around the model: torch exports no traced module by itself."""
    import torch

    module: Any = torch.nn.Module  # torch may be absent where types are checked

    class Held(module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.kept = _as_parameters(model) if isinstance(model, torch.jit.ScriptModule) else []

        def forward(self, *args: Any) -> Any:
            return self.model(*args)

    return Held()


def _as_parameters(model: Any) -> list[Any]:
    """Weights of a loaded TorchScript module as torch.nn.Parameter, which exporting asks for.

    They have the same storage. TorchScript knows them as such for as long as they are held.
    """
    import torch

    held = []
    for part in model.modules():
        for name, weight in list(part._parameters.items()):
            if weight is not None and not isinstance(weight, torch.nn.Parameter):
                held.append(torch.nn.Parameter(weight.detach(), requires_grad=False))
                part._c.setattr(name, held[-1])
    return held


def _parameter_names(program: Any, prefix: str) -> dict[str, str]:
    """torch's names of parameters, by those that the program has for them."""
    sign = program.graph_signature
    known = {**sign.inputs_to_parameters, **sign.inputs_to_buffers}
    known.update(getattr(sign, "inputs_to_lifted_tensor_constants", {}))
    return {key: name.removeprefix(prefix) for key, name in known.items()}
