"""Compile LLVM text from standard input to an object on standard output.

    python -m tvm.backend.llvm.compile_worker TRIPLE CPU FEATURES OPT_LEVEL FLOAT_ABI
    python -m tvm.backend.llvm.compile_worker serve [MODULE ...]

A process of its own, because LLVM ends the process on code that a CPU cannot run. One that serves
answers question after question: a line of JSON with the size of the content, the module whose
`answer` is asked, and what this takes beside the content; then the content. It answers with the
size of the result and the result, or -1. It says a first 0 when it is ready and has loaded the
modules. Ctrl-C is the business of whoever asked; when that one is gone, so is this process, in the
middle of its work.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import threading
from collections.abc import Sequence

from tvm.backend.llvm import jit
from tvm.error import TVMError
from tvm.support.parent import end_with_parent

_IDLE_SECONDS = 60.0  # then the memory is better used elsewhere


def serve(modules: Sequence[str]) -> int:
    """Answer what comes until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, target = sys.stdin.buffer, sys.stdout.buffer
    if hasattr(select, "poll"):
        threading.Thread(target=_end_with_asker, daemon=True).start()
    jit.in_worker = True
    jit.host_machine()  # loads LLVM
    for module in modules:
        importlib.import_module(module)
    target.write(b"0\n")
    target.flush()
    while select.select([source], [], [], _IDLE_SECONDS)[0]:
        line = source.readline()
        if not line:
            break
        size, module, *fields = json.loads(line)
        given = source.read(size)
        try:
            content = importlib.import_module(module).answer(given, *fields)
            target.write(b"%d\n" % len(content) + content)
        except TVMError:
            target.write(b"-1\n")
        target.flush()
    return 0


def answer(
    text: bytes, triple: str, cpu: str, features: str, level: int, float_abi: str
) -> bytes:
    """The object of a text."""
    return jit.emit_here(text.decode(), jit.Machine(triple, cpu, features, level, float_abi))


def _end_with_asker() -> None:
    """End this process when nobody can ask it or hear its answers any more."""
    parent, poll = os.getppid(), select.poll()
    poll.register(sys.stdin.fileno(), 0)  # of the end alone is told
    while not poll.poll(1000) and os.getppid() == parent:
        pass
    os._exit(0)


def main(arguments: list[str]) -> int:
    """Compile; 0 when it worked."""
    if arguments[:1] == ["serve"]:
        return serve(arguments[1:])
    end_with_parent()
    triple, cpu, features, opt_level, float_abi = arguments
    machine = jit.Machine(triple, cpu, features, int(opt_level), float_abi)
    jit.in_worker = True
    try:
        content = jit.emit_here(sys.stdin.read(), machine)
    except TVMError as err:
        print(str(err).replace("\n", " "), file=sys.stderr)
        return 1
    sys.stdout.buffer.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
