"""Looks at code that others wrote, in a process that may die of it.

    python -m tvm.backend.llvm.foreign_worker disassemble      bitcode -> LLVM text
    python -m tvm.backend.llvm.foreign_worker link             an object -> nothing, if it links

The file comes on standard input. 1 and a line on standard error: it is refused.
"""

from __future__ import annotations

import sys

from tvm.backend.llvm import jit
from tvm.error import TVMError
from tvm.support.parent import end_with_parent


def disassemble(content: bytes) -> bytes:
    """Bitcode as text."""
    return jit.text_of_bitcode(content).encode()


def link(content: bytes) -> bytes:
    """Nothing, for an object that LLVM's linker takes."""
    from tvm.backend.llvm.load import probe

    probe(content)
    return b""


_TASKS = {"disassemble": disassemble, "link": link}


def main(arguments: list[str]) -> int:
    """Do the task; 0 when it worked."""
    end_with_parent()
    jit.in_worker = True
    try:
        answer = _TASKS[arguments[0]](sys.stdin.buffer.read())
    except (TVMError, RuntimeError) as err:
        print(_reason(str(err)), file=sys.stderr)
        return 1
    sys.stdout.buffer.write(answer)
    return 0


def _reason(text: str) -> str:
    lines = text.splitlines() or ["no reason given"]
    return next((line.partition("found: ")[2] for line in lines if "found: " in line), lines[0])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
