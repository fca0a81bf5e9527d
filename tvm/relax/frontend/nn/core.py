"""What networks are made of: tensors, parameters, effects, modules.

A `Tensor` stands for an expression of the function that is being exported: operators of
`nn.op` bind their result in the block builder at hand and wrap it again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tvm import relax as rx
from tvm import runtime, tir
from tvm.error import AssumptionError, KindError, MissingMethodError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.transform import Pass
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import (
    ObjectStructInfo,
    ShapeStructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from tvm.runtime import Device

from .subroutine import SubroutineMixin
from .tensor_op import TensorOp

if TYPE_CHECKING:
    from . import spec as _spec

Extent: TypeAlias = "int | str | PrimExpr"
_default_dtype = "float32"


def get_default_dtype() -> str:
    """The dtype of parameters that are made without one."""
    return _default_dtype


def set_default_dtype(dtype: str) -> None:
    """Set the dtype of parameters that are made without one."""
    global _default_dtype
    _default_dtype = dtype


class Tensor(TensorOp):
    """A tensor in the function that is being exported; `_expr` is its expression."""

    _expr: rx.Expr

    def __init__(self, *, _expr: rx.Expr) -> None:
        info = _expr.struct_info_
        if not isinstance(info, TensorStructInfo):
            raise KindError(
                message("nn.Tensor", found=f"an expression with struct info {info}",
                        legal="that of a tensor")
            )  # fmt: skip
        if info.ndim == -1 or info.shape is None:
            raise KindError(
                message("nn.Tensor", found=f"{info}", legal="a tensor whose shape is known")
            )
        self._expr = _expr

    @staticmethod
    def from_const(data: Any) -> Tensor:
        """A constant with the values of an array."""
        return Tensor(_expr=rx.const(data))

    @staticmethod
    def from_scalar(data: float, dtype: str) -> Tensor:
        """A constant without dimensions."""
        return Tensor(_expr=rx.const(data, dtype=dtype))

    @staticmethod
    def from_struct_info(struct_info: TensorStructInfo, name: str = "tensor") -> Tensor:
        """A new variable with this struct info."""
        return Tensor(_expr=rx.Var(name, struct_info))

    @staticmethod
    def placeholder(shape: Sequence[Extent], dtype: str, name: str = "tensor") -> Tensor:
        """A new variable; an extent that is a str is a symbol of this name."""
        extents = [_extent(dim, f"nn.Tensor.placeholder {name!r}") for dim in shape]
        return Tensor(_expr=rx.Var(name, TensorStructInfo(extents, dtype)))

    @property
    def shape(self) -> list[int | PrimExpr]:
        """The extents; those that are known as int."""
        info: Any = self._expr.struct_info
        return [int(dim) if isinstance(dim, tir.IntImm) else dim for dim in info.shape.values]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        info: Any = self._expr.struct_info
        return int(info.ndim)

    @property
    def dtype(self) -> str:
        """The dtype of the elements."""
        info: Any = self._expr.struct_info
        return str(info.dtype)

    def __repr__(self) -> str:
        return f'Tensor({self.shape}, "{self.dtype}")'


def _extent(dim: Extent, what: str) -> Any:
    if isinstance(dim, bool) or not isinstance(dim, (int, np.integer, str, PrimExpr)):
        raise TypeError(
            message(f"an extent of {what}", found=f"{dim!r} of type {type(dim).__name__}",
                    legal="an int, a str (the name of a symbol) or a PrimExpr")
        )  # fmt: skip
    if isinstance(dim, str):
        return tir.Var(dim, "int64")
    if isinstance(dim, (int, np.integer)):
        if dim < 0:
            text = message(f"an extent of {what}", found=f"{dim}", legal="0 or more")
            raise AssumptionError(text)
        return int(dim)
    if not str(dim.dtype).startswith("int"):
        raise KindError(message(f"an extent of {what}", found=f"{dim.dtype}", legal="an integer"))
    return dim


class Parameter(Tensor):
    """A parameter of a network: a shape and a dtype, and maybe `data` of them.

    `attrs` holds what its user wants to remember of it.
    """

    _data: runtime.Tensor | None
    attrs: dict[str, Any]

    def __init__(self, shape: Sequence[Extent], dtype: str | None = None) -> None:
        form = Tensor.placeholder(shape, dtype or get_default_dtype(), name="param")
        super().__init__(_expr=form._expr)
        self._data = None
        self.attrs = OrderedDict()

    @property
    def data(self) -> runtime.Tensor | None:
        """The values, if they are set."""
        return self._data

    @data.setter
    def data(self, data: Any) -> None:
        """Set the values: an array of numpy, a tensor of ours or of torch, or None."""
        if data is None:
            self._data = None
            return
        if type(data).__module__.partition(".")[0] == "torch":
            data = data.detach().cpu().contiguous()
            data = runtime.tensor(_from_torch(data))
        elif not isinstance(data, runtime.Tensor):
            if not isinstance(data, np.ndarray):
                raise TypeError(
                    message("the values of a parameter", found=f"{type(data).__name__}",
                            legal="a numpy array, a Tensor of ours or of torch")
                )  # fmt: skip
            data = runtime.tensor(data)
        if list(data.shape) != self.shape:
            raise ValueError(
                message("the values of a parameter", found=f"shape {tuple(data.shape)}",
                        legal=f"{tuple(self.shape)}")
            )  # fmt: skip
        if str(data.dtype) != self.dtype:
            raise ValueError(
                message("the values of a parameter", found=f"dtype {data.dtype}", legal=self.dtype)
            )
        self._data = data

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype. A parameter that has values keeps its own."""
        if dtype is None:
            return
        if self._data is not None:
            raise ValueError(
                message("the dtype of a parameter", found="values are set",
                        legal="a change before they are")
            )  # fmt: skip
        self._expr = Tensor.placeholder(self.shape, dtype, name="param")._expr


def _from_torch(data: Any) -> Any:
    import ml_dtypes

    if str(data.dtype) == "torch.bfloat16":  # which numpy itself does not have
        import torch

        return data.view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return data.numpy()


class Object:
    """A value that is no tensor: a cache, say."""

    _expr: rx.Expr

    def __init__(self, *, _expr: rx.Expr, _name: str) -> None:
        if not isinstance(_expr, rx.Var):
            _expr = _builder().emit(_expr, _name)
        self._expr = _expr
        if not isinstance(self._expr.struct_info_, ObjectStructInfo):
            raise KindError(
                message("nn.Object", found=f"struct info {self._expr.struct_info_}",
                        legal="R.Object")
            )  # fmt: skip


class Effect:
    """A state that calls change: made once, handed in and out of each exported function."""

    def emit_init(self, name_hint: str, builder: BlockBuilder) -> list[rx.Var]:
        """Bind the first state; the names of its variables begin with `name_hint`."""
        raise NotImplementedError  # abstract

    def create(self, name_hint: str) -> list[rx.Var]:
        """New variables for the state, which become parameters of a function."""
        raise NotImplementedError  # abstract

    def set_state(self, state_vars: list[rx.Var]) -> None:
        """Take these variables as the state."""
        raise NotImplementedError  # abstract

    def finalize(self) -> list[rx.Var]:
        """The state at the end of a function."""
        raise NotImplementedError  # abstract

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype, where there is one."""


class Module(SubroutineMixin):
    """A network, or a part of one; a subclass has parameters and a method `forward`.

    Its attributes that are `Parameter`, `Effect` or `Module` are found by themselves.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What `forward` gives."""
        if not hasattr(self, "forward"):
            raise MissingMethodError(f"{type(self).__name__} does not have a `forward` method")
        return self.forward(*args, **kwargs)

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Parameter]]:
        """All parameters with their names, as in `layers.0.weight`."""
        yield from find_attributes(self, prefix, lambda item: isinstance(item, Parameter))

    def parameters(self) -> Iterator[Parameter]:
        """All parameters."""
        for _, param in self.named_parameters():
            yield param

    def state_dict(
        self, *, prefix: str = "", destination: dict[str, Parameter] | None = None
    ) -> dict[str, Parameter]:
        """All parameters by their names, in a new dict or in `destination`."""
        found = OrderedDict() if destination is None else destination
        for name, param in find_attributes(self, prefix, lambda x: isinstance(x, Parameter)):
            found[name] = param
        return found

    def load_state_dict(
        self, state_dict: dict[str, Parameter], strict: bool = True
    ) -> tuple[list[str], list[str]]:
        """Take the values of parameters of the same names.

        Gives names that are missing in `state_dict` and names that are not known here; with
        `strict`, raises KeyError where there are any. What is taken has to hold a tensor.
        """
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        unexpected = [name for name in state_dict if name not in own]
        if strict and (missing or unexpected):
            raise KeyError(f"Missing keys: {missing}, Unexpected keys: {unexpected}")
        for name, param in own.items():
            if name in state_dict:
                data = state_dict[name].data
                if data is None:
                    raise ValueError(
                        message(f"load_state_dict of {name}", found="a parameter without data",
                                legal="a parameter that is set to a concrete tensor")
                    )  # fmt: skip
                param.data = data
        return missing, unexpected

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all parameters and effects."""
        for item in self.__dict__.values():
            if hasattr(item, "to") and callable(item.to):
                item.to(dtype=dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype

    def export_tvm(
        self, spec: _spec.ModuleSpecType, debug: bool = False, allow_extern: bool = False
    ) -> Any:
        """The module in Relax: `(mod, params)`, or `(mod, params, ext_mods)` with `allow_extern`.

        `spec` says which methods become functions, and what their arguments are. Functions take
        the arguments, then effects, then parameters. `debug` adds an effect for printing.
        """
        from .exporter import Exporter
        from .spec import ModuleSpec

        exporter = Exporter(debug=debug)
        mod, params, ext_mods = exporter.build(ModuleSpec.from_raw(spec, self))
        if allow_extern:
            return mod, params, exporter.all_modules()
        if ext_mods:
            raise ValueError(
                message("export_tvm", found=f"{len(ext_mods)} external modules",
                        legal="none, or allow_extern=True to get them, too")
            )  # fmt: skip
        return mod, params

    def jit(
        self,
        spec: _spec.ModuleSpecType,
        device: str | Device = "cpu",
        pipeline: str | Pass | None = "default_build",
        out_format: str = "torch",
        debug: bool = False,
    ) -> Any:
        """Compile the module for a device, to be called with tensors of torch.

        `out_format="tvm"` gives the virtual machine, the parameters in order, and the specs.
        """
        from .jit import compiled
        from .spec import ModuleSpec

        if out_format not in ("torch", "tvm"):
            raise ValueError(
                message("jit: out_format", found=repr(out_format), legal="'torch' or 'tvm'")
            )
        specs = ModuleSpec.from_raw(spec, self)
        vm, params = compiled(specs, device, pipeline, debug)
        if out_format == "tvm":
            return vm, params, specs
        from .torch import TorchModule

        return TorchModule(spec=specs, params=params, vm=vm)


class ModuleList(Module):
    """Modules in a list; called, each takes what the one before gives."""

    def __init__(self, modules: list[Module]) -> None:
        self.modules = modules

    def __iter__(self) -> Iterator[Module]:
        return iter(self.modules)

    def __getitem__(self, idx: int) -> Module:
        return self.modules[idx]

    def __setitem__(self, idx: int, module: Module) -> None:
        self.modules[idx] = module

    def __len__(self) -> int:
        return len(self.modules)

    def append(self, module: Module) -> None:
        """Add a module at the end."""
        self.modules.append(module)

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of all modules."""
        for module in self.modules:
            module.to(dtype=dtype)

    def forward(self, x: Any) -> Any:
        """`x`, through all modules."""
        for module in self.modules:
            x = module(x)
        return x


def wrap_nested(expr: rx.Expr, name: str) -> Any:
    """Bind an expression in the block builder at hand: a `Tensor`, or a tuple of them."""
    if not isinstance(expr, rx.DataflowVar):
        expr = _builder().emit(expr, name)
    info = expr.struct_info_
    if isinstance(info, TensorStructInfo):
        return Tensor(_expr=expr)
    if isinstance(info, TupleStructInfo):
        return tuple(
            wrap_nested(rx.TupleGetItem(expr, i), f"{name}.{i}") for i in range(len(info.fields))
        )
    if isinstance(info, ShapeStructInfo):
        return expr
    raise TypeError(
        message(f"the result {name!r} of an operator", found=f"struct info {info}",
                legal="a tensor, or a tuple of tensors")
    )  # fmt: skip


def wrap_tensor(expr: rx.Expr, name: str) -> Tensor:
    """Bind an expression that is one tensor."""
    result: Tensor = wrap_nested(expr, name)
    return result


def _builder() -> BlockBuilder:
    builder = BlockBuilder.current()
    if builder is None:
        raise RuntimeError(
            message("an operator of nn", found="no block builder",
                    legal="calls within export_tvm, or within `with bb.function(...)`")
        )  # fmt: skip
    return builder


def find_attributes(
    root: Module, prefix: str, wanted: Callable[[Any], bool]
) -> Iterator[tuple[str, Any]]:
    """The attributes of a module and of those within that are wanted, with their names."""
    if isinstance(root, ModuleList):
        for i, part in enumerate(root):
            yield from find_attributes(part, f"{prefix}{i}.", wanted)
        return
    for name, item in root.__dict__.items():
        if wanted(item):
            yield prefix + name, item
        elif isinstance(item, Module):
            yield from find_attributes(item, f"{prefix}{name}.", wanted)

