"""One run of the playground: the texts of a program and of its schedule in, texts and values out.

It stands on the floors that need no LLVM, so it works where Python itself runs in a browser.
"""

from __future__ import annotations

import contextlib
import io
import json
import linecache
import math
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import tvm
from tvm import dlight, te, tir, topi
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.tir import interp, pipeline
from tvm.tir.schedule import Schedule

LARGEST: Final = 1 << 20  # elements of all arguments together: a page is no place for more
_WORDS: Final = {
    "tvm": tvm, "T": T, "I": I, "tir": tir, "te": te, "topi": topi, "dlight": dlight, "np": np,
}  # fmt: skip


class Stop(Exception):
    """The run ends here: in which part, on which line of it, and why."""

    def __init__(self, part: str, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.part = part
        self.line = line

    @classmethod
    def of(cls, part: str, err: BaseException, path: Path | None = None) -> Stop:
        """An error of the text in the file `path`, with the innermost line that was at work."""
        name = type(err).__name__
        text = str(err) if str(err).startswith(name) else f"{name}: {err}"
        if path is None:
            return cls(part, text)
        frames = traceback.extract_tb(err.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        if isinstance(err, SyntaxError):
            lines.append(err.lineno)
        return cls(part, text.replace(f"{path.parent}/", ""), lines[-1] if lines else None)


def run(program: str, schedule: str = "", sizes: str = "", seed: int = 0) -> dict[str, Any]:
    """What became of the program: `stages` with their texts, `values` of what it writes, `error`.

    `program` is Python that makes a PrimFunc or an IRModule, by TVMScript or TE; the last one
    counts. `schedule` is Python that works on `sch`. `sizes` binds what stands in shapes:
    `n=24, m=8`; 16 where nothing is said. Arguments are drawn from `seed`.
    """
    made: dict[str, Any] = {"stages": [], "values": [], "printed": "", "error": None}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            _run(made, program, schedule, sizes, seed)
        except Stop as stop:
            made["error"] = {"part": stop.part, "line": stop.line, "text": str(stop)}
    made["printed"] = printed.getvalue()
    return made


def run_json(program: str, schedule: str, sizes: str, seed: int) -> str:
    """`run`, with a result that crosses from Python to the page."""
    return json.dumps(run(program, schedule, sizes, seed))


def _run(made: dict[str, Any], program: str, schedule: str, sizes: str, seed: int) -> None:
    def stage(name: str, text: str) -> None:
        made["stages"].append({"name": name, "text": text})

    before = _module(_executed("program", program, dict(_WORDS)))
    stage("Program", before.script())
    after = before
    if schedule.strip():
        sch = _guarded("schedule", lambda: Schedule(before))
        names = _executed("schedule", schedule, {**_WORDS, "sch": sch, "mod": before})
        after = names["mod"] if names.get("mod") is not before else names["sch"].mod
        stage("Scheduled", after.script())
        stage("Steps", names["sch"].explain())
    stage("Lowered", _guarded("lowering", lambda: pipeline.lowered(after)).script())
    stage("C", _guarded("C", lambda: _c_text(after)))
    func = _entry(before)
    given = _arguments(func, _sizes(sizes), seed)
    meant = _guarded("interpreter", lambda: _results(before, given))
    found = _guarded("interpreter", lambda: _results(after, given))
    for var, start, want, got in zip(func.params, given, meant, found):
        if var in func.buffer_map and not np.array_equal(start, got, equal_nan=True):
            made["values"].append(_described(func.buffer_map[var].name, want, got))


def _guarded(part: str, action: Any) -> Any:
    try:
        return action()
    except Exception as err:
        raise Stop.of(part, err) from err


def _executed(part: str, text: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names after the text was run as a file, which is where TVMScript reads programs from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{part}.py"
        path.write_text(text, encoding="utf-8")
        linecache.checkcache(str(path))
        try:
            exec(compile(text, str(path), "exec"), names)
        except Exception as err:
            raise Stop.of(part, err, path) from err
    return names


def _module(names: Mapping[str, Any]) -> IRModule:
    """The last function or module that the program made."""
    for value in reversed(list(names.values())):
        if isinstance(value, IRModule):
            return value
        if isinstance(value, tir.PrimFunc):
            return IRModule({"main": value})
    raise Stop("program", "the text makes neither a T.prim_func nor an I.ir_module, nor one by TE")


def _entry(mod: IRModule) -> tir.PrimFunc:
    """The function that runs: `main`, or the only one."""
    funcs = {var.name_hint: f for var, f in mod.functions_items() if isinstance(f, tir.PrimFunc)}
    found = funcs.get("main") or (next(iter(funcs.values())) if len(funcs) == 1 else None)
    if found is None:
        raise Stop("program", f"which function runs? found: {sorted(funcs)}; legal: one, or `main`")
    return found


def _c_text(mod: IRModule) -> str:
    from tvm.backend.c.codegen import emit_module

    bound = tir.transform.BindTarget(tvm.target.Target("c"))(mod)
    lowered = pipeline.get_tir_pipeline("default")(bound)
    return emit_module(pipeline.finalize_host_passes()(lowered)).text


def _sizes(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = (word.strip() for word in part.partition("="))
        if not (name.isidentifier() and value.isdecimal()):
            raise Stop("sizes", f"found: {part!r}; legal: numbers by name, as in n=24, m=8")
        found[name] = int(value)
    return found


def _arguments(func: tir.PrimFunc, sizes: Mapping[str, int], seed: int) -> list[Any]:
    """Arrays and numbers for the parameters, the same for the same seed."""
    rng = np.random.default_rng(seed)
    values = {
        var: sizes.get(var.name, 16)
        for buffer in func.buffer_map.values()
        for extent in buffer.shape
        for var in tir.analysis.undefined_vars(extent)
    }
    shapes = {
        param: tuple(int(interp.evaluate(extent, values)) for extent in buffer.shape)
        for param, buffer in func.buffer_map.items()
    }
    total = sum(map(math.prod, shapes.values()))
    if total > LARGEST:
        raise Stop("sizes", f"the arguments have {total:,} elements; legal: {LARGEST:,} at most")
    given: list[Any] = []
    for param in func.params:
        if param in shapes:
            given.append(_drawn(rng, shapes[param], func.buffer_map[param].dtype))
        else:
            given.append(values.get(param, sizes.get(param.name, 16)))
    return given


def _drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise Stop("values", f"found: a buffer of {dtype}; legal: the types of numpy") from None
    if kind.kind == "f":
        return np.round(rng.uniform(-1, 1, shape), 2).astype(kind)
    return rng.integers(0, 2 if kind.kind == "b" else 10, shape).astype(kind)


def _results(mod: IRModule, given: list[Any]) -> list[Any]:
    held = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in given]
    name = next(v.name_hint for v, f in mod.functions_items() if f is _entry(mod))
    interp.run(mod, *held, name=name)
    return held


def _described(name: str, want: Any, got: Any) -> dict[str, Any]:
    """A tensor that was written, and how far the scheduled program is from the written one."""
    with np.errstate(all="ignore"):
        apart = np.abs(got.astype("float64") - want.astype("float64"))
    return {
        "name": name, "dtype": str(got.dtype), "shape": list(got.shape),
        "text": np.array2string(got, precision=4, threshold=200, suppress_small=True),
        "same": bool(np.array_equal(want, got, equal_nan=True)),
        "apart": float(np.nanmax(apart, initial=0.0)),
        "scale": float(np.nanmax(np.abs(want.astype("float64")), initial=0.0)),
    }  # fmt: skip
