"""Graphs that libraries take over, and what they took."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.ir import IRModule
from tvm.relax.analysis.bindings import all_bindings
from tvm.script import relax as R

op: Any = relax.op


def graph(*shapes: tuple[Any, ...], dtype: str = "float16", make: Any) -> IRModule:
    """A dataflow block with what `make` computes of parameters of these shapes."""
    bb = relax.BlockBuilder()
    params = [relax.Var(f"p{n}", R.Tensor(list(s), dtype)) for n, s in enumerate(shapes)]
    with bb.function("main", params):
        with bb.dataflow():
            out = bb.emit_output(make(bb, *params))
        bb.emit_func_output(out)
    return bb.get()


def taken(mod: IRModule) -> list[str]:
    """The names of the patterns that matched, in the order of the calls."""
    main, found = mod["main"], []
    assert isinstance(main, relax.Function)
    for binding in all_bindings(main):
        value = getattr(binding, "value", None)
        if isinstance(value, relax.Call) and isinstance(value.op, relax.GlobalVar):
            func = mod[value.op]
            assert isinstance(func, relax.Function)
            composite = [getattr(b, "value", None) for b in all_bindings(func)]
            found += [str(f.attrs["Composite"]) for f in composite if isinstance(f, relax.Function)]
    return found
