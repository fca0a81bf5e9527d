"""What kernels of a graph are called with, and files that measure one each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal, structural_hash
from tvm.relax.analysis.bindings import all_bindings
from tvm.relax.expr import Call, Function, ShapeExpr, Tuple, is_call_of
from tvm.relax.struct_info import ShapeStructInfo, TensorStructInfo, TupleStructInfo
from tvm.target import Target
from tvm.tir.expr import IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import vars_in

Records: TypeAlias = list[tuple[list[Any], int]]
Calls: TypeAlias = dict[GlobalVar, dict[GlobalVar, Records]]

_FILE = '''\
"""How long {prim_func_name} of {model_name} takes."""

import tvm
from tvm.dlight.benchmark import benchmark_prim_func
{head}

MODEL_NAME = {model_name!r}
RELAX_FUNC_NAME = {relax_func_name!r}
PRIM_FUNC_NAME = {prim_func_name!r}
FUNC_HASH = {func_hash}
WEIGHT = {weight}
SAMPLE_NUMBER = {sample_number}
INPUT_ARGS = {input_args}
DYM_VAR_DICT = {dym_var_dict}


{script}


if __name__ == "__main__":
    benchmark_prim_func(
        main,
        args=INPUT_ARGS,
        dym_var_dict=DYM_VAR_DICT,
        sample_number=SAMPLE_NUMBER,
        target={target},
        weight=WEIGHT,
        relax_func_name=RELAX_FUNC_NAME,
        prim_func_name=PRIM_FUNC_NAME,
    )
'''


def extract_shape(arg: Any) -> list[Any]:
    """The struct infos of tensors and shapes, of all fields of a tuple."""
    if isinstance(arg, (tuple, list)):
        return [info for one in arg for info in extract_shape(one)]
    if isinstance(arg, Tuple):
        return extract_shape(list(arg.fields))
    if isinstance(arg, TupleStructInfo):
        return extract_shape(list(arg.fields))
    info = arg if isinstance(arg, (TensorStructInfo, ShapeStructInfo)) else arg.struct_info
    return extract_shape(info) if isinstance(info, TupleStructInfo) else [info]


def extract_dynamic_var(func_dict: Calls) -> dict[GlobalVar, dict[str, str]]:
    """The symbols in the shapes of each graph's kernels, and their types."""
    return {
        graph: {
            node.name: str(node.dtype)
            for records in kernels.values()
            for infos, _ in records
            for info in infos
            for extent in info.values or ()
            for node in vars_in(extent)
        }
        for graph, kernels in func_dict.items()
    }


def update_records(records: Records, new_args: list[Any]) -> None:
    """Count a call: one more of those with the same arguments, or the first with its own."""
    for number, (args, count) in enumerate(records):
        same = len(args) == len(new_args)
        if same and all(structural_equal(a, b) for a, b in zip(args, new_args)):
            records[number] = (args, count + 1)
            return
    records.append((new_args, 1))


def extract_func_info_from_prim_func(
    func: PrimFunc,
) -> tuple[list[tuple[tuple[Any, ...], str]], dict[Var, str]]:
    """Shape and type of each argument; the symbols of the shapes, and their types."""
    args: list[tuple[tuple[Any, ...], str]] = []
    symbols: dict[Var, str] = {}
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            args.append(((param,), "scalar"))
            symbols[param] = str(param.dtype)
            continue
        shape = tuple(d.value if isinstance(d, IntImm) else d for d in buffer.shape)
        args.append((shape, str(buffer.dtype)))
        for extent in buffer.shape:
            symbols.update((n, str(n.dtype)) for n in vars_in(extent))
    return args, symbols


def extract_all_func_info_from_relax(
    mod: IRModule,
) -> tuple[Calls, dict[GlobalVar, dict[str, str]]]:
    """For each graph its kernels, with what they are called with and how often; the symbols."""
    found: Calls = {}
    for var, func in mod.functions.items():
        if not isinstance(func, Function):
            continue
        for binding in all_bindings(func):
            call = getattr(binding, "value", None)
            if is_call_of(call, "relax.call_tir"):
                kernel = call.args[0]
                assert isinstance(kernel, GlobalVar), "call_tir calls functions of the module"
                records = found.setdefault(var, {}).setdefault(kernel, [])
                update_records(records, _arguments(call))
    return found, extract_dynamic_var(found)


def _arguments(call: Call) -> list[Any]:
    infos = [*extract_shape(call.args[1]), *extract_shape(list(call.sinfo_args))]
    extra = call.args[2] if len(call.args) > 2 else None
    if isinstance(extra, ShapeExpr):  # numbers that the kernel takes besides tensors
        infos += [ShapeStructInfo([value]) for value in extra.values]
    return infos


def extract_prim_func(
    model_name: str,
    relax_func_name: str,
    prim_func_name: str,
    func: PrimFunc,
    *,
    func_args: list[tuple[tuple[Any, ...], str]] | None = None,
    dym_var_dict: dict[str, str] | None = None,
    weight: int = 1,
    sample_number: int = 5,
    target: str | Target | None = None,
) -> str:
    """The text of a program that measures the kernel."""
    on = Target.current() if target is None else Target(target)
    if on is None:
        raise TVMError(
            message("extract_prim_func: a program for a target", found="none",
                    legal="target=..., or `with Target(...):` around")
        )  # fmt: skip
    args, symbols = extract_func_info_from_prim_func(func)
    given = func_args if func_args is not None else args
    names = dym_var_dict
    if names is None:
        names = {var.name: dtype for var, dtype in symbols.items()}
    head, _, script = func.with_attr("global_symbol", "main").script(name="main").partition("\n\n")
    return _FILE.format(
        model_name=model_name, relax_func_name=relax_func_name, prim_func_name=prim_func_name,
        func_hash=structural_hash(func), weight=weight, sample_number=sample_number,
        input_args=[(tuple(d if isinstance(d, int) else str(d) for d in s), t) for s, t in given],
        dym_var_dict=names, script=script.strip(), head=head.replace("# ", ""),
        target=f"tvm.target.Target({json.dumps(json.dumps(on.export()))})",
    )  # fmt: skip


def extract_from_relax(
    mod: IRModule, model_name: str, file_path: str, target: str | Target | None = None
) -> None:
    """A program in the folder for each kernel of each graph and what it is called with."""
    calls, symbols = extract_all_func_info_from_relax(mod)
    Path(file_path).mkdir(parents=True, exist_ok=True)
    for graph, kernels in calls.items():
        for kernel, records in kernels.items():
            func = mod[kernel]
            assert isinstance(func, PrimFunc), "kernels are TIR functions"
            for number, (infos, weight) in enumerate(records):
                text = extract_prim_func(
                    model_name, graph.name_hint, kernel.name_hint, func,
                    func_args=_shapes(infos), dym_var_dict=symbols[graph], weight=weight,
                    target=target,
                )  # fmt: skip
                suffix = f"_{number}" if number else ""
                name = f"{graph.name_hint}_{kernel.name_hint}{suffix}.py"
                (Path(file_path) / name).write_text(text, encoding="utf-8")


def _shapes(infos: Sequence[Any]) -> list[tuple[tuple[Any, ...], str]]:
    found: list[tuple[tuple[Any, ...], str]] = []
    for info in infos:
        shape = tuple(d.value if isinstance(d, IntImm) else d for d in info.values or ())
        found.append((shape, "scalar" if isinstance(info, ShapeStructInfo) else str(info.dtype)))
    return found
