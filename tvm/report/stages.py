"""The life of each function: the passes that changed it, and its text after each."""

from __future__ import annotations

from typing import Final

from tvm.ir.function import BaseFunc
from tvm.ir.module import IRModule
from tvm.relax.expr import Function
from tvm.tir import stmt as s
from tvm.tir.children import inner_statements
from tvm.tir.function import PrimFunc

from . import words as w
from .recorder import Recorder, Run

# What runs other passes and does nothing by itself; a pass inside of any other one works on
# something else, such as a constant that is computed while the graph is folded.
_SEQUENCES: Final = frozenset(
    ("sequential", "relax.default_pipeline", "tir.default_tir_pipeline", "relax.zero_pipeline")
)
_LIMIT: Final = 20_000  # lines of a text; machine-made ones may be longer than anybody reads


def main_runs(recorder: Recorder) -> list[tuple[int, Run]]:
    """The passes that worked on the program itself, with their numbers, in order of time."""
    parents = {run.parent for run in recorder.runs if run.parent is not None}
    return [
        (number, run)
        for number, run in enumerate(recorder.runs)
        if run.after is not None
        and not (run in parents and run.name in _SEQUENCES)
        and all(run.name in _SEQUENCES for run in _around(run))
    ]


def _around(run: Run) -> list[Run]:
    found: list[Run] = []
    parent = run.parent
    while parent is not None:
        found.append(parent)
        parent = parent.parent
    return found


class Life:
    """The forms of one function, each with the number and name of the pass that made it."""

    def __init__(self) -> None:
        self.forms: list[tuple[int, str, BaseFunc]] = []

    def add(self, number: int, name: str, func: BaseFunc) -> None:
        """Another form, unless it is the last one."""
        if not self.forms or self.forms[-1][2] is not func:
            self.forms.append((number, name, func))


def lives(recorder: Recorder, first: IRModule) -> dict[str, Life]:
    """The life of each function by its name."""
    found: dict[str, Life] = {}
    for var, func in first.functions.items():
        found.setdefault(var.name_hint, Life()).add(-1, "as given", func)
    for number, run in main_runs(recorder):
        assert run.after is not None, "only those that ended"
        for var, func in run.after.functions.items():
            name = var.name_hint
            if name not in found:
                found[name] = _begun(name, func, run.before, found)
            found[name].add(number, run.name, func)
    return found


def _begun(name: str, func: BaseFunc, before: IRModule, found: dict[str, Life]) -> Life:
    """The life of a function that has a new name: a kernel goes on from the one it was made of.

    A pass that makes a kernel of another one calls it by the other's name, and more.
    """
    made = Life()
    if isinstance(func, PrimFunc):
        names = [
            v.name_hint for v, f in before.functions.items()
            if isinstance(f, PrimFunc) and name.startswith(v.name_hint) and v.name_hint in found
        ]  # fmt: skip
        if names:
            made.forms += found[max(names, key=len)].forms
    return made


class Texts:
    """Texts of functions, each printed once."""

    def __init__(self, table: w.LineTable) -> None:
        self._table = table
        self._known: dict[int, tuple[BaseFunc, list[int]]] = {}

    def of(self, func: BaseFunc, name: str) -> list[int]:
        """The runs of lines of a function's text."""
        found = self._known.get(id(func))
        if found is None:
            found = self._known[id(func)] = (func, self._table.add_lines(shortened(func, name)))
        return found[1]

    def stages(self, life: Life, name: str, kind: type[BaseFunc]) -> list[w.Stage]:
        """The different texts in a life; a pass that left the text as it was is no stage."""
        stages: list[w.Stage] = []
        for number, passed, func in life.forms:
            if isinstance(func, kind):
                text = self.of(func, name)
                if not stages or stages[-1].text != text:
                    stages.append(w.Stage(number, passed, text))
        return stages


def shortened(func: BaseFunc, name: str) -> list[str]:
    """The lines of a function's text; of a very long one the first, and how many follow."""
    lines = func.script(name=name).split("\n")
    body = [line for line in lines if not line.startswith("# from tvm.script import")]
    while body and not body[0].strip("# "):
        del body[0]
    if len(body) > _LIMIT:
        return [*body[:_LIMIT], f"# ... {len(body) - _LIMIT:,} more lines"]
    return body


def pass_runs(recorder: Recorder) -> list[w.PassRun]:
    """All passes, in order of time; `depth` tells which ran inside of which."""
    sizes = _Sizes()
    found: list[w.PassRun] = []
    for run in recorder.runs:
        after = run.after or run.before
        old = {v.name_hint: f for v, f in run.before.functions.items()}
        new = {v.name_hint: f for v, f in after.functions.items()}
        changed = [name for name, func in new.items() if old.get(name) is not func]
        changed += [name for name in old if name not in new]
        found.append(
            w.PassRun(
                run.name, run.depth, run.start * 1e6, run.seconds * 1e6, len(old), len(new),
                changed, sizes.of(run.before), sizes.of(after),
            )
        )  # fmt: skip
    return found


class _Sizes:
    """Statements of kernels and bindings of graphs, each function counted once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[BaseFunc, int]] = {}

    def of(self, mod: IRModule) -> int:
        return sum([self._of(func) for func in mod.functions.values()])

    def _of(self, func: BaseFunc) -> int:
        found = self._known.get(id(func))
        if found is None:
            found = self._known[id(func)] = (func, _size(func))
        return found[1]


def _size(func: BaseFunc) -> int:
    if isinstance(func, Function):
        return sum([len(block.bindings) for block in func.body.blocks])
    return statements(func) if isinstance(func, PrimFunc) else 0


def statements(func: PrimFunc) -> int:
    """How many statements a function has; sequences count as what is in them."""
    count, stack = 0, [func.body]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, s.SeqStmt):
            stack += stmt.seq
            continue
        count += 1
        stack += inner_statements(stmt)
    return count
