"""Makes the variants of a compiled graph: a process of its own compiles, the cache keeps.

    builder = VariantBuilder(mod, target, "compiled")
    builder.build("main", {"x": (1, 3, 320, 320)}, Path("variant.so"), urgent=False)

The folder that the process is given holds `graph.json`, `tensors.bin` and `request.json`; it
leaves `variant.so` there, or `failed.txt`.
"""

from __future__ import annotations

import hashlib
import json
import mmap
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tvm.backend.llvm import cache
from tvm.backend.llvm.jit import host_machine
from tvm.error import CheckError, message
from tvm.ir.json_rows import key_text, load_apart, save_apart
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.transform.specialize import complete_shapes
from tvm.support.compiler_state import compiler_state
from tvm.support.scratch import scratch
from tvm.target.target import Target

Shapes = Mapping[str, Sequence[int]]
GRAPH: Final = "graph.json"
TENSORS: Final = "tensors.bin"
REQUEST: Final = "request.json"
RESULT: Final = "variant.so"
FAILED: Final = "failed.txt"
_HOME: Final = Path(__file__).parents[3]


class VariantBuilder:
    """The source of a compiled graph and how it was compiled."""

    def __init__(self, mod: IRModule, target: Target, exec_mode: str) -> None:
        self._mod = mod
        context = PassContext.current()
        self._how = {
            "target": str(target),
            "exec_mode": exec_mode,
            "opt_level": context.opt_level,
            "required_pass": [str(name) for name in context.required_pass],
            "disabled_pass": [str(name) for name in context.disabled_pass],
            "config": dict(context.config),
        }
        self._saved: tuple[str, list[Any]] | None = None
        self._digest = ""
        self._lock = threading.Lock()

    def complete(self, func_name: str, shapes: Shapes) -> dict[str, tuple[int, ...]]:
        """The shapes of all inputs with open extents; a ValueError where they do not follow."""
        return complete_shapes(self._mod, func_name, shapes)

    def build(self, func_name: str, shapes: Shapes, path: Path, *, urgent: bool) -> None:
        """Write the library of one variant, whose function keeps its name.

        The process runs at the lowest priority unless the variant is waited for. Raises TVMError
        with the process's complaint.
        """
        request = {**self._how, "function": func_name, "urgent": urgent,
                   "shapes": {name: [int(e) for e in shape] for name, shape in shapes.items()}}
        try:
            text = json.dumps({**request, "urgent": None}, sort_keys=True)
        except TypeError as err:
            raise CheckError(
                message("specialize: the pass configuration cannot be sent to a process",
                        found=str(err), legal="numbers, words and lists")
            ) from err  # fmt: skip
        graph, tensors = self._source()
        machine = repr(host_machine())
        key = cache.key_of([self._digest, text, compiler_state(), machine])
        found = cache.load(key)
        if found is None:
            found = _compiled_apart(graph, tensors, request)
            if len(found) * cache.SHARE <= cache.limit():
                cache.store(key, found)
        path.write_bytes(found)

    def _source(self) -> tuple[str, list[Any]]:
        with self._lock:
            if self._saved is None:
                graph, tensors = save_apart(self._mod)
                digest = hashlib.blake2b(key_text(self._mod)[0].encode())
                for tensor in tensors:
                    digest.update(_bytes_of(tensor))
                self._saved, self._digest = (graph, tensors), digest.hexdigest()
            return self._saved


def _bytes_of(tensor: Any) -> Any:
    import numpy as np

    return np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8).data


def _compiled_apart(graph: str, tensors: list[Any], request: dict[str, Any]) -> bytes:
    with scratch("tvm-variant-") as name:
        folder = Path(name)
        (folder / GRAPH).write_text(graph)
        (folder / REQUEST).write_text(json.dumps(request))
        with (folder / TENSORS).open("wb") as file:
            for tensor in tensors:
                data = _bytes_of(tensor)
                file.write(len(data).to_bytes(8, "little"))
                file.write(data)
        path = os.pathsep.join(filter(None, [str(_HOME), os.environ.get("PYTHONPATH", "")]))
        command = [sys.executable, "-m", "tvm.exec.compile_variant", name]
        # the end of its standard input tells the process that we are gone
        done = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
        )  # fmt: skip
        assert done.stderr is not None, "asked for"
        complaint = done.stderr.read().decode(errors="replace").strip()
        code = done.wait()
        if done.stdin is not None:
            done.stdin.close()
        done.stderr.close()
        if code == 0 and (folder / RESULT).is_file():
            return (folder / RESULT).read_bytes()
        failed = folder / FAILED
        reason = failed.read_text() if failed.is_file() else complaint.splitlines()[-1:] or code
        raise CheckError(message("specialize: the variant was not compiled", found=str(reason)))


def read_source(folder: Path) -> IRModule:
    """The module in a folder that `VariantBuilder` wrote."""
    tensors: list[memoryview] = []
    with (folder / TENSORS).open("rb") as file:
        whole = memoryview(b"")
        if os.fstat(file.fileno()).st_size:
            whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    at = 0
    while at < len(whole):
        size = int.from_bytes(whole[at : at + 8], "little")
        tensors.append(whole[at + 8 : at + 8 + size])
        at += 8 + size
    made: IRModule = load_apart((folder / GRAPH).read_text(), tensors)
    return made
