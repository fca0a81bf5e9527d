"""Modules whose Python functions run beside compiled ones.

    @I.ir_module
    class Module(BasePyModule):
        @T.prim_func
        def matmul(A: T.handle, B: T.handle, C: T.handle): ...

        @I.pyfunc
        def main(self, x, w):
            y = self.call_tir(self.matmul, [x, w], R.Tensor((4, 8), "float32"))
            return torch.nn.functional.relu(y)

    instance = Module(tvm.cpu())
    instance.main(x, w)

Tensors go from one side to the other without a copy where both can share memory; torch's come back
as torch's.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MethodType
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.ir.expr import GlobalVar, StructInfo
from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.relax.expr import ExternFunc, Function
from tvm.relax.py_tensors import (
    leaves,
    same_kind_as,
    shape_from_arguments,
    to_numpy,
    to_runtime,
    to_torch,
    torch,
)
from tvm.relax.script.proxies import as_struct_info
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo, const_int
from tvm.relax.vm_build import build as relax_build
from tvm.runtime import Device, Tensor, cpu, empty
from tvm.runtime.vm import VirtualMachine
from tvm.runtime.vm_builtin import register_py_func
from tvm.support.suggest import did_you_mean
from tvm.target.target import Target
from tvm.tir.build import build as tir_build
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.interp import evaluate


class BasePyModule:
    """A module made ready on a device: its functions are attributes, by name."""

    def __init__(
        self, ir_mod: IRModule | PyModuleFactory, device: Device, target: Target | None = None
    ) -> None:
        mod = ir_mod.ir_module if isinstance(ir_mod, PyModuleFactory) else ir_mod
        self.ir_mod = mod
        self.device = device
        self.target = _target_of(device) if target is None else Target(target)
        self.pyfuncs: dict[str, Callable[..., Any]] = {}
        self.compiled_tir_funcs: dict[str, Callable[..., Any]] = {}
        self.extern_funcs: dict[str, Callable[..., Any]] = {}
        self.tir_func_names = _names_of(mod, PrimFunc)
        self.relax_func_names = _names_of(mod, Function)
        self.relax_vm: VirtualMachine | None = None
        self._compile()
        for name, func in mod.pyfuncs.items():
            self.add_python_function(name, func)

    @classmethod
    def __ir_module__(cls, mod: IRModule) -> PyModuleFactory:
        """What `@I.ir_module` gives for a class with this base."""
        return PyModuleFactory(mod, cls)

    # --- making ready ---

    def _compile(self) -> None:
        kernels = {v: f for v, f in self.ir_mod.functions.items() if isinstance(f, PrimFunc)}
        if kernels:
            named: Mapping[GlobalVar, BaseFunc] = {
                v: f.with_attr("global_symbol", v.name_hint) for v, f in kernels.items()
            }
            built = tir_build(self.ir_mod.with_functions(dict(named)), self.target)
            for name in self.tir_func_names:
                self.compiled_tir_funcs[name] = built[name]
                setattr(self, name, self._kernel(name))
        if self.relax_func_names:
            kept = {v: f for v, f in self.ir_mod.functions.items() if not _is_python(f)}
            executable = relax_build(self.ir_mod.with_functions(kept), self.target)
            self.relax_vm = VirtualMachine(executable, self.device)
            for name in self.relax_func_names:
                setattr(self, name, self._graph(name))

    def _kernel(self, name: str) -> Callable[..., None]:
        """A kernel as an attribute: results are its last arguments."""

        def call(*args: Any) -> None:
            self.compiled_tir_funcs[name](*[to_runtime(arg, self.device) for arg in args])

        call.__name__ = name
        return call

    def _graph(self, name: str) -> Callable[..., Any]:
        """A Relax function as an attribute."""

        def call(*args: Any) -> Any:
            assert self.relax_vm is not None, "it was made with the attribute"
            given = [to_runtime(arg, self.device) for arg in args]
            return same_kind_as(args)(self.relax_vm[name](*given))

        call.__name__ = name
        return call

    def add_python_function(self, name: str, func: Callable[..., Any]) -> None:
        """Make a Python function an attribute, and let Relax functions call it by name."""
        if not callable(func):
            raise TypeError(
                message(
                    f"add_python_function({name!r})", found=type(func).__name__, legal="a function"
                )
            )
        bound = MethodType(func, self) if _takes_self(func) else func
        self.pyfuncs[name] = func

        @functools.wraps(func)
        def call(*args: Any, **kwargs: Any) -> Any:
            return bound(*args, **kwargs)

        setattr(self, name, call)

        def from_machine(*args: Any) -> Any:
            given = to_torch(args) if torch() is not None else args
            return to_runtime(bound(*given), self.device)

        register_py_func(name, from_machine)

    # --- calling ---

    def call_tir(self, tir_func: Any, args: Any, out_sinfo: Any) -> Any:
        """The results that a kernel writes, one or several as `out_sinfo` says."""
        name = _name_of(tir_func)
        kernel = self.compiled_tir_funcs.get(name)
        if kernel is None:
            known = self.tir_func_names
            raise ValueError(
                message(
                    f"call_tir({name!r})",
                    found=f"no TIR function of this name{did_you_mean(name, known)}",
                    legal=", ".join(known) or "none",
                )
            )
        given = _as_list(args)
        func = self.ir_mod[name]
        assert isinstance(func, PrimFunc), "kernels are TIR functions"
        outs = self._outputs(out_sinfo, given, func, f"call_tir({name!r})")
        kernel(*[to_runtime(arg, self.device) for arg in given], *outs)
        return self._results(given, outs)

    def run_kernel(self, name: str, args: Sequence[Any]) -> None:
        """Run a kernel on all of its arguments, to some of which it writes."""
        self.compiled_tir_funcs[name](*[to_runtime(arg, self.device) for arg in args])

    def call_dps_packed(self, func_name: str, args: Any, out_sinfo: Any) -> Any:
        """The results that a registered function writes into its last arguments.

        A function that is an attribute of this module gets the arguments as they are, and what it
        gives is the result.
        """
        own = getattr(self, func_name, None)
        if callable(own):
            return own(*_as_list(args))
        func = self.extern_funcs.get(func_name)
        if func is None:
            func = get_global_func(func_name, allow_missing=True)
            if func is None:
                raise ValueError(
                    message(
                        f"call_dps_packed({func_name!r})",
                        found="no registered function of this name",
                        legal=f"register it: @tvm.register_global_func({func_name!r})",
                    )
                )
            self.extern_funcs[func_name] = func
        given = _as_list(args)
        outs = self._outputs(out_sinfo, given, None, f"call_dps_packed({func_name!r})")
        func(*[to_runtime(arg, self.device) for arg in given], *outs)
        return self._results(given, outs)

    def call_py_func(self, func_name: str, args: Any) -> Any:
        """The result of a Python function of the module; tensors come to it as torch's."""
        if func_name not in self.pyfuncs:
            known = list(self.pyfuncs)
            raise ValueError(
                message(
                    f"call_py_func({func_name!r})",
                    found=f"no Python function of this name{did_you_mean(func_name, known)}",
                    legal=", ".join(known) or "none",
                )
            )
        given = _as_list(args)
        if torch() is not None:
            given = [to_torch(arg) if isinstance(arg, Tensor) else arg for arg in given]
        return getattr(self, func_name)(*given)

    def _convert_pytorch_to_tvm(self, tensors: Any) -> Any:
        """Tensors, or a list of them, as ours; memory is shared where it can be."""
        if isinstance(tensors, (list, tuple)):
            return [to_runtime(one, self.device) for one in tensors]
        return to_runtime(tensors, self.device)

    def _convert_tvm_to_pytorch(self, tvm_tensors: Any) -> Any:
        """Tensors, or a list of them, as torch's."""
        if isinstance(tvm_tensors, (list, tuple)):
            return [to_torch(one) for one in tvm_tensors]
        return to_torch(tvm_tensors)

    def _infer_concrete_shape_from_args(self, shape: Any, in_args: Any) -> list[int]:
        """A shape in which each symbolic extent is that of an argument."""
        extents = [extent if isinstance(extent, int) else const_int(extent) for extent in shape]
        return list(shape_from_arguments(extents, _as_list(in_args), "the shape of a result"))

    def _outputs(
        self, out_sinfo: Any, args: Sequence[Any], func: PrimFunc | None, what: str
    ) -> list[Tensor]:
        infos = out_sinfo if isinstance(out_sinfo, (list, tuple)) else [out_sinfo]
        flat: list[StructInfo] = []
        for info in (as_struct_info(one, _Symbols()) for one in infos):
            flat += info.fields if isinstance(info, TupleStructInfo) else [info]
        sizes = {} if func is None else _sizes(func, args)
        made: list[Tensor] = []
        for at, info in enumerate(flat):
            if not isinstance(info, TensorStructInfo) or not isinstance(info.shape, ShapeExpr):
                raise ValueError(
                    message(f"{what}: out_sinfo", found=f"{info}", legal="R.Tensor with a shape")
                )
            extents = [const_int(extent) for extent in info.shape.values]
            if None in extents and func is not None:
                known = _written_shape(func, at - len(flat), sizes)
                extents = [k if e is None else e for e, k in zip(extents, known)]
            shape = shape_from_arguments(extents, args, what)
            made.append(empty(shape, str(info.dtype), self.device))
        return made

    def _results(self, args: Sequence[Any], outs: list[Tensor]) -> Any:
        convert = same_kind_as(args)
        if not any(hasattr(leaf, "shape") for leaf in leaves(args)) and torch() is not None:
            convert = to_torch
        return convert(outs[0]) if len(outs) == 1 else [convert(out) for out in outs]

    # --- looking ---

    def get_function(self, name: str) -> Callable[..., Any] | None:
        """A function by name: compiled, registered, graph or Python; None if there is none."""
        for table in (self.compiled_tir_funcs, self.extern_funcs):
            if name in table:
                return table[name]
        if name in self.pyfuncs or name in self.relax_func_names:
            return getattr(self, name)  # type: ignore[no-any-return]
        return None

    def list_functions(self) -> dict[str, list[str]]:
        """The names of all functions, by kind."""
        return {
            "tir": list(self.tir_func_names),
            "relax": list(self.relax_func_names),
            "extern": list(self.extern_funcs),
            "python": list(self.pyfuncs),
        }

    def script(
        self,
        *,
        name: str | None = None,
        show_meta: bool = False,
        ir_prefix: str = "I",
        tir_prefix: str = "T",
        relax_prefix: str = "R",
        module_alias: str = "cls",
        buffer_dtype: str = "float32",
        int_dtype: str = "int32",
        float_dtype: str = "void",
        verbose_expr: bool = False,
        indent_spaces: int = 4,
        print_line_numbers: bool = False,
        num_context_lines: int = -1,
        syntax_sugar: bool = True,
        show_object_address: bool = False,
        show_all_struct_info: bool = True,
    ) -> str:
        """The module as text, Python functions as they were written."""
        return self.ir_mod.script(
            name=name,
            show_meta=show_meta,
            ir_prefix=ir_prefix,
            tir_prefix=tir_prefix,
            relax_prefix=relax_prefix,
            module_alias=module_alias,
            buffer_dtype=buffer_dtype,
            int_dtype=int_dtype,
            float_dtype=float_dtype,
            verbose_expr=verbose_expr,
            indent_spaces=indent_spaces,
            print_line_numbers=print_line_numbers,
            num_context_lines=num_context_lines,
            syntax_sugar=syntax_sugar,
            show_object_address=show_object_address,
            show_all_struct_info=show_all_struct_info,
        )

    def show(
        self, style: str | None = None, black_format: bool | None = None, **kwargs: Any
    ) -> None:
        """Print the module, with colours where the terminal has them."""
        self.ir_mod.show(style, bool(black_format), **kwargs)


class PyModuleFactory:
    """A module with Python functions as it was read; calling it with a device makes it ready."""

    def __init__(self, ir_module: IRModule, base: type[BasePyModule] = BasePyModule) -> None:
        self.ir_module = ir_module
        self.original_class = base

    @property
    def pyfuncs(self) -> dict[str, Callable[..., Any]]:
        """The Python functions, by name."""
        return self.ir_module.pyfuncs

    def __call__(
        self, device: Device | None = None, target: Target | None = None
    ) -> BasePyModule:
        return BasePyModule(self.ir_module, cpu(0) if device is None else device, target)

    def create_instance(
        self, device: Device | None = None, target: Target | None = None
    ) -> BasePyModule:
        """The module made ready on a device."""
        return self(device, target)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "ir_module":
            raise AttributeError(name)
        found = self.ir_module.pyfuncs.get(name)
        return getattr(self.ir_module, name) if found is None else found

    def __getitem__(self, name: str | GlobalVar) -> BaseFunc:
        return self.ir_module[name]

    def __contains__(self, name: object) -> bool:
        return name in self.ir_module

    def __str__(self) -> str:
        return str(self.ir_module)


class _Symbols(dict[str, Var]):
    """Names in the strings of a struct info; each is a symbol."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __missing__(self, name: str) -> Var:
        self[name] = Var(name, "int64")
        return self[name]


def _names_of(mod: IRModule, kind: type[BaseFunc]) -> list[str]:
    return [var.name_hint for var, func in mod.functions_items() if isinstance(func, kind)]


def _is_python(func: BaseFunc) -> bool:
    return isinstance(func, ExternFunc) and bool(func.attrs.get("is_pyfunc"))


def _takes_self(func: Callable[..., Any]) -> bool:
    return next(iter(inspect.signature(func).parameters), "") == "self"


def _name_of(func: Any) -> str:
    """The name of a function that is given by itself or by name."""
    if isinstance(func, str):
        return func
    for attribute in ("name_hint", "__name__", "name"):
        found = getattr(func, attribute, None)
        if isinstance(found, str):
            return found
    raise ValueError(
        message("call_tir", found=f"{type(func).__name__} without a name", legal="a function")
    )


def _as_list(args: Any) -> list[Any]:
    return list(args) if isinstance(args, (list, tuple)) else [args]


def _target_of(device: Device) -> Target:
    return Target("llvm") if device.type == "cpu" else Target.from_device(device)


def _sizes(func: PrimFunc, args: Sequence[Any]) -> dict[Var, int]:
    """What the symbols of a kernel's buffers are for these arguments."""
    sizes: dict[Var, int] = {}
    for param, arg in zip(func.params, args):
        buffer = func.buffer_map.get(param)
        if buffer is None:
            value = to_numpy(arg)
            if isinstance(value, int):
                sizes[param] = value
        elif hasattr(arg, "shape"):
            for extent, number in zip(buffer.shape, arg.shape):
                if isinstance(extent, Var):
                    sizes.setdefault(extent, int(number))
    return sizes


def _written_shape(
    func: PrimFunc, index: int, sizes: Mapping[Var, int]
) -> list[int | None]:
    """The shape of one of the last buffers, None for what the arguments do not tell."""
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    found: list[int | None] = []
    for extent in buffers[index].shape:
        try:
            found.append(int(evaluate(extent, dict(sizes))))
        except TVMError:
            found.append(None)
    return found


__all__ = ["BasePyModule", "PyModuleFactory"]
