"""Sizes for symbols, and tables of results."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from tvm.arith.analyzer import Analyzer
from tvm.error import TVMError, message
from tvm.ir.expr import GlobalVar
from tvm.relax.struct_info import ShapeStructInfo, TensorStructInfo
from tvm.tir.expr import IntImm
from tvm.tir.functor import substitute, vars_in
from tvm.tir.op.arith import const

# What a kernel takes: a struct info, or a shape and a type; then with numbers only.
InputInfo: TypeAlias = Any
Populated: TypeAlias = tuple[tuple[int, ...], str]
Sampler: TypeAlias = Callable[[dict[str, str]], dict[str, int]]


def get_func_name_from_gv(gv: GlobalVar) -> str:
    """The name of a function."""
    return gv.name_hint


def dym_var_sample_str(sample: Mapping[Any, int]) -> str:
    """A sample as text: n=3, m=5."""
    return ", ".join(f"{name}={value}" for name, value in sample.items())


def populuate_input_shape(
    input_infos: Sequence[InputInfo], dym_var_sample: Mapping[str, int]
) -> list[Populated]:
    """Shapes in numbers, with the types; a shape itself has the type "shape", a number "scalar"."""
    return [_populated(info, dym_var_sample) for info in input_infos]


def _populated(info: InputInfo, sample: Mapping[str, int]) -> Populated:
    if isinstance(info, ShapeStructInfo):
        shape, dtype = info.values, "shape"
    elif isinstance(info, TensorStructInfo):
        shape, dtype = info.values, str(info.dtype)
    else:
        shape, dtype = info
    if shape is None:
        raise TVMError(
            message("populuate_input_shape: a shape of numbers", found=str(info),
                    legal="an input whose shape is known, if by symbols")
        )  # fmt: skip
    return tuple(_number(extent, sample) for extent in shape), dtype


def _number(extent: Any, sample: Mapping[str, int]) -> int:
    if isinstance(extent, int):
        return extent
    if isinstance(extent, IntImm):
        return extent.value
    if isinstance(extent, str):
        return _sampled(extent, sample)
    symbols = list(vars_in(extent))
    values = {v: const(_sampled(v.name, sample), v.dtype) for v in symbols}
    found = Analyzer().simplify(substitute(extent, values))
    assert isinstance(found, IntImm), "sums and products of numbers are numbers"
    return found.value


def _sampled(name: str, sample: Mapping[str, int]) -> int:
    if name not in sample:
        raise TVMError(
            message(f"populuate_input_shape: a number for {name!r}",
                    found=dym_var_sample_str(sample) or "no numbers",
                    legal="a sample with all symbols of the inputs")
        )  # fmt: skip
    return int(sample[name])


def default_dym_var_sample_func(dym_var_dict: dict[str, str]) -> dict[str, int]:
    """A number from 2 to 128 for each symbol, at random."""
    found: dict[str, int] = {}
    for name, dtype in dym_var_dict.items():
        if str(dtype) not in ("int32", "int64"):
            raise TypeError(
                f"default_dym_var_sample_func: symbol {name!r} of type {dtype}; "
                "legal: int32, int64"
            )
        found[name] = random.randint(2, 128)
    return found


def print_results(
    bench_results: Sequence[Mapping[str, Any]], sort_by: str = "WxTime(ms)", desc: bool = True
) -> None:
    """A table, sorted by a column if one is named."""
    if not bench_results:
        print("no results")
        return
    columns = list(bench_results[0])
    rows = list(bench_results)
    if sort_by:
        if sort_by not in columns:
            raise ValueError(f"sort_by is {sort_by!r}; legal: {', '.join(columns)}")
        rows.sort(key=lambda row: row[sort_by], reverse=desc)
    cells = [columns, *[[_cell(row[name]) for name in columns] for row in rows]]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    for row in cells:
        print("  ".join(text.rjust(width) for text, width in zip(row, widths)))


def _cell(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
