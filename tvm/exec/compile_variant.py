"""Compiles one function of a graph for one set of sizes; `tvm.relax.vm.variants` starts it.

    python -m tvm.exec.compile_variant FOLDER
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from tvm.error import TVMError
from tvm.ir.transform import PassContext
from tvm.relax.transform.specialize import bind_shapes
from tvm.relax.vm.variants import FAILED, REQUEST, RESULT, read_source
from tvm.relax.vm_build import build
from tvm.target.target import Target


def compile_in(folder: Path) -> None:
    """Write the library that the folder asks for."""
    request: dict[str, Any] = json.loads((folder / REQUEST).read_text())
    if not request["urgent"]:
        with contextlib.suppress(OSError, AttributeError):  # no priorities on this system
            os.nice(19)
    mod, name = read_source(folder), request["function"]
    made = bind_shapes(mod, name, request["shapes"]).with_attr("global_symbol", name)
    functions = {v: made if v.name_hint == name else f for v, f in mod.functions.items()}
    context = PassContext(
        opt_level=request["opt_level"], required_pass=request["required_pass"],
        disabled_pass=request["disabled_pass"], config=request["config"],
    )  # fmt: skip
    with context:
        whole = mod.with_functions(functions)
        built = build(whole, Target(request["target"]), exec_mode=request["exec_mode"])
        built.export_library(str(folder / RESULT))


def _end_with_parent() -> None:
    sys.stdin.buffer.read()  # nothing is ever written there
    os._exit(1)


def main(folder: Path) -> int:
    """Compile; 1 and a line in the folder where that cannot be done."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        compile_in(folder)
    except (TVMError, ValueError, TypeError, MemoryError, OSError) as err:
        (folder / FAILED).write_text(f"{type(err).__name__}: {err}")
        return 1
    return 0


if __name__ == "__main__":
    code = main(Path(sys.argv[1]))
    sys.stdout.flush()
    os._exit(code)  # the thread that waits for the parent has no end of its own
