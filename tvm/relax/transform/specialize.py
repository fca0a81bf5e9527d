"""Functions for one set of sizes, beside the one for all sizes.

    main(x: Tensor((n, 3, h, w)))                     with_variants(mod, [{"x": (1, 3, 320, 320)}])
 -> main, and main_x1x3x320x320(x: Tensor((1, 3, 320, 320)))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm.error import message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.module import IRModule
from tvm.relax.analysis.recursion import detect_recursion
from tvm.relax.bind import bind_symbolic_vars, copy_with_new_vars, inline_functions
from tvm.relax.derive import bind_symbols
from tvm.relax.expr import Function, Var
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.struct_info_rules import tir_vars_in_struct_info
from tvm.relax.transform.known_sizes import with_known_sizes
from tvm.support.suggest import did_you_mean
from tvm.tir import expr as tir
from tvm.tir.functor import substitute

Shapes = Mapping[str, Sequence[int]]
VARIANT_OF = "relax.variant_of"  # attribute: the function for all sizes that this one stands in for


def with_variants(
    mod: IRModule, several: Sequence[Shapes], func_name: str = "main"
) -> IRModule:
    """The module with a function for each of the given sets of input shapes.

    Every set gives the shapes of as many inputs of `func_name` as it takes to know all its symbols.
    A compiled module has its virtual machine call the function whose sizes a call has. Raises
    ValueError for inputs that do not exist, and shapes that cannot be or do not say enough.
    """
    functions = dict(mod.functions)
    func = _function(mod, func_name)
    if not any(tir_vars_in_struct_info(param.struct_info) for param in func.params):
        raise ValueError(
            message(
                f"specialize {func_name!r}",
                found="a function whose sizes are fixed",
                legal="a function with symbolic sizes",
            )
        )
    for shapes in several:
        made = bind_shapes(mod, func_name, shapes)
        name = variant_name(func_name, made)
        if any(var.name_hint == name for var in functions):
            continue
        made = made.with_attrs({"global_symbol": name, VARIANT_OF: func_name})
        functions[GlobalVar(name)] = made
    return mod.with_functions(functions)


def variant_name(func_name: str, func: Function) -> str:
    """The name of a function for the sizes that its parameters have."""
    parts = []
    for param in func.params:
        info = param.struct_info_
        if isinstance(info, TensorStructInfo) and info.values:
            sizes = [str(e.value) if isinstance(e, tir.IntImm) else "n" for e in info.values]
            parts.append(param.name_hint + "x".join(sizes))
    text = "_".join([func_name, *parts])
    return "".join(c if c.isalnum() and c.isascii() else "_" for c in text)


def bind_shapes(mod: IRModule, func_name: str, shapes: Shapes) -> Function:
    """A function of the module with the symbols that the given shapes of its inputs decide."""
    func = _function(mod, func_name)
    values = _symbol_values(func, shapes)
    turning = {var.name_hint for group in detect_recursion(mod) for var in group}
    private: dict[str | GlobalVar, Function] = {
        v: f for v, f in mod.functions.items()
        if isinstance(f, Function) and v.name_hint not in {func_name, *turning}
        and f.attrs.get("global_symbol") is None
    }  # fmt: skip
    # what the graph calls has its sizes from the caller
    whole = inline_functions(func, private) if private else func
    made = copy_with_new_vars(bind_symbolic_vars(whole, dict(values.items())))
    return with_known_sizes(made, mod)


def complete_shapes(
    mod: IRModule, func_name: str, shapes: Shapes
) -> dict[str, tuple[int, ...]]:
    """The shapes of all tensors that a function takes, where those given decide them."""
    func = _function(mod, func_name)
    values = _symbol_values(func, shapes)
    found: dict[str, tuple[int, ...]] = {}
    for param in func.params:
        info = param.struct_info_
        if isinstance(info, TensorStructInfo) and tir_vars_in_struct_info(info):
            extents = [simplify(substitute(e, values)) for e in info.values or ()]
            found[param.name_hint] = tuple(e.value for e in extents if isinstance(e, tir.IntImm))
    return found


def _function(mod: IRModule, func_name: str) -> Function:
    func = next((f for v, f in mod.functions.items() if v.name_hint == func_name), None)
    if not isinstance(func, Function):
        names = [v.name_hint for v, f in mod.functions.items() if isinstance(f, Function)]
        raise ValueError(
            message(
                f"specialize: no Relax function {func_name!r}{did_you_mean(func_name, names)}",
                legal=", ".join(names) or "a module with one",
            )
        )
    return func


def _symbol_values(func: Function, shapes: Shapes) -> dict[tir.Var, PrimExpr]:
    params = {param.name_hint: param for param in func.params}
    found: dict[tir.Var, PrimExpr] = {}
    for name, shape in shapes.items():
        info = _shape_of(params, name)
        if len(shape) != len(info.values or ()) or any(extent < 0 for extent in shape):
            raise _refuse(name, shape, str(info))
        bind_symbols(info, TensorStructInfo([int(e) for e in shape], info.dtype), found)
    values = {var: value for var, value in found.items() if isinstance(value, tir.IntImm)}
    for name, shape in shapes.items():
        info = _shape_of(params, name)
        for extent, given in zip(info.values or (), shape):
            now = simplify(substitute(extent, found))
            if isinstance(now, tir.IntImm) and now.value != given:
                legal = f"{extent} = {now.value}" if now is not extent else f"{now.value}"
                raise _refuse(name, shape, f"{info}, with {legal}")
    needed = [var for param in func.params for var in tir_vars_in_struct_info(param.struct_info)]
    missing = list(dict.fromkeys(var.name for var in needed if var not in values))
    if missing:
        raise ValueError(
            message(
                "specialize: these shapes leave sizes open",
                found=f"no value for {', '.join(missing)}",
                legal="the shapes of " + ", ".join(
                    f"{name}: {param.struct_info_}" for name, param in params.items()
                    if tir_vars_in_struct_info(param.struct_info)
                ),
            )
        )  # fmt: skip
    return dict(values)


def _shape_of(params: Mapping[str, Var], name: str) -> TensorStructInfo:
    param = params.get(name)
    info = None if param is None else param.struct_info_
    if not isinstance(info, TensorStructInfo) or info.values is None:
        legal = [n for n, p in params.items() if isinstance(p.struct_info_, TensorStructInfo)]
        raise ValueError(
            message(
                f"specialize: no input {name!r} with a shape{did_you_mean(name, legal)}",
                legal=", ".join(legal) or "none",
            )
        )
    return info


def _refuse(name: str, shape: Sequence[int], legal: str) -> ValueError:
    found = f"({', '.join(map(str, shape))})"
    return ValueError(message(f"specialize: the shape of {name!r}", found=found, legal=legal))
