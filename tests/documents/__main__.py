"""Execute documents block by block, and compare what they print with what they show.

    python -m tests.documents [FOLDER]

Each document runs in a process-wide order of its own: one namespace, one thread, an empty folder to
work in. Names that a document uses without saying what they are come from `GIVEN`.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import inspect
import io
import linecache
import os
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import tvm
from tvm.script import tir as T

from .blocks import Block, read

DEFAULT: Final = "../shared/seeds"


@T.prim_func
def _copy(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("copy"):
            v = T.axis.spatial(4, i)
            B[v] = A[v]


def _module() -> tvm.IRModule:
    return tvm.IRModule({"main": _copy.with_attr("global_symbol", "main")})


# What documents take for granted, by the document's name.
GIVEN: Final[dict[str, Callable[[], dict[str, Any]]]] = {
    "codegen_flow": lambda: {"target": tvm.target.Target("llvm")},
    "tir_transform_namespace": lambda: {"tvm": tvm, "m": _module()},
    "meta_schedule_tune_tir": lambda: {"mod": _module()},
}
# Tuning asks for the target of the context.
AROUND: Final[dict[str, Callable[[], Any]]] = {
    "meta_schedule_tune_tir": lambda: tvm.target.Target("llvm -num-cores=1"),
}


# Where the function stands whose signature a document shows.
SIGNATURES: Final = {"finalize_passes": "tvm.relax.pipeline"}


class Result(NamedTuple):
    """What became of one block: "runs", "same" (it prints what is shown), "differs", "fails"."""

    document: str
    line: int
    state: str
    detail: str = ""


def execute(path: Path) -> list[Result]:
    """Run the blocks of a document in order; a thread of its own keeps its contexts apart."""
    results: list[Result] = []
    thread = threading.Thread(target=lambda: results.extend(_execute(path)))
    thread.start()
    thread.join()
    return results


def _execute(path: Path) -> list[Result]:
    name = path.stem
    module = ModuleType(f"document_{name}")
    sys.modules[module.__name__] = module  # TVMScript looks its module up
    vars(module).update(GIVEN.get(name, dict)())
    with AROUND.get(name, contextlib.nullcontext)():
        return [_run(name, module, block) for block in read(path)]


def _run(document: str, module: ModuleType, block: Block) -> Result:
    file = f"<{document}:{block.line}>"
    lines = block.code.splitlines(keepends=True)
    linecache.cache[file] = (len(block.code), None, lines, file)
    module.__file__ = file
    head = _signature(block.code)
    if head is not None:
        home = importlib.import_module(SIGNATURES[document])
        shown = [arg.arg for arg in head.args.args]
        found = list(inspect.signature(getattr(home, head.name)).parameters)
        state = "same" if shown == found else "differs"
        return Result(document, block.line, state, "" if shown == found else f"found: {found}")
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            exec(compile(block.code, file, "exec"), vars(module))
    except Exception:
        return Result(document, block.line, "fails", traceback.format_exc(limit=-3))
    got = printed.getvalue()
    if block.output is not None:
        detail = _difference(block.output, got)
        return Result(document, block.line, "differs" if detail else "same", detail)
    missing = [text for text in block.lines if text not in got]
    if missing:
        return Result(document, block.line, "differs", f"not printed: {missing}\n{got}")
    return Result(document, block.line, "same" if block.lines else "runs")


def _signature(code: str) -> ast.FunctionDef | None:
    """The head of a function, if that is all that a block shows."""
    if not code.startswith("def ") or "\n" in code.strip():
        return None
    found = ast.parse(f"{code.strip()}: ...").body[0]
    return found if isinstance(found, ast.FunctionDef) else None


def _difference(shown: str, got: str) -> str:
    """Line by line; blanks at the ends of lines and of the whole are the page's own."""
    a, b = ([ln.rstrip() for ln in text.strip().splitlines()] for text in (shown, got))
    return "\n".join(difflib.unified_diff(a, b, "shown", "printed", lineterm=""))


def main(folder: str = DEFAULT) -> int:
    """Print a table of all documents of a folder; the number of blocks that do not hold."""
    paths = sorted(Path(folder).resolve().glob("*.txt"))
    if not paths:
        print(f"no documents (*.txt) in {folder}")
        return 1
    start = os.getcwd()
    results: list[Result] = []
    for path in paths:
        with tempfile.TemporaryDirectory(prefix="tvm-documents-") as place:
            os.chdir(place)
            try:
                results += execute(path)
            finally:
                os.chdir(start)
    bad = [r for r in results if r.state in ("fails", "differs")]
    for result in bad:
        print(f"--- {result.document}:{result.line} {result.state}\n{result.detail}\n")
    print("| document | blocks | run | print what is shown | fail or differ |")
    print("|---|---|---|---|---|")
    for path in paths:
        own = [r.state for r in results if r.document == path.stem]
        counts = (len(own), own.count("runs") + own.count("same"), own.count("same"))
        shown = " | ".join(map(str, (*counts, len(own) - counts[1])))
        print(f"| {path.stem} | {shown} |")
    return len(bad)


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:2]), 1))
