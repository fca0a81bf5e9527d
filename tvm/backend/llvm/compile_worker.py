"""Compile LLVM text from standard input to an object on standard output.

    python -m tvm.backend.llvm.compile_worker TRIPLE CPU FEATURES OPT_LEVEL FLOAT_ABI

A process of its own, because LLVM ends the process on code that a CPU cannot run.
"""

from __future__ import annotations

import sys

from tvm.backend.llvm import jit
from tvm.error import TVMError


def main(arguments: list[str]) -> int:
    """Compile; 0 when it worked."""
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
