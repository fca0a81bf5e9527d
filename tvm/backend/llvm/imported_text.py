"""LLVM code that a program brings along, as the value of `pragma_import_llvm`.

Such code is linked into the module by LLVM itself. As nobody checked it, the whole is compiled in a
process of its own, like calls of unusual intrinsics.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tvm.error import CheckError, message

from . import jit
from .module_text import FOREIGN_MARK

_FORMS = (".ll", ".bc")


def with_imports(text: str, imported: Sequence[str], machine: jit.Machine) -> str:
    """The text of the module with all that it imports; files are given by their names."""
    if not imported:
        return text
    foreign = [line for line in text.splitlines() if line.startswith(FOREIGN_MARK)]
    module = jit.parse(text, machine)
    for code in dict.fromkeys(imported):
        try:
            module.link_in(jit.parse(_content(code), machine))
        except (RuntimeError, OSError) as err:
            raise CheckError(
                message(
                    "pragma_import_llvm",
                    found=str(err).strip(),
                    where=code.strip().partition("\n")[0],
                    legal="LLVM text, or the name of a file .ll or .bc",
                )
            ) from None
    return "\n".join([*foreign, FOREIGN_MARK + "imported code", str(module)])


def _content(code: str) -> str:
    if not code.strip().endswith(_FORMS) or "\n" in code.strip():
        return code
    content = Path(code.strip()).read_bytes()
    return jit.text_of_bitcode(content) if code.strip().endswith(".bc") else content.decode()
