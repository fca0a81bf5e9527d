"""What LLVM knows of CPUs, asked in a process of its own.

    python -m tvm.target.llvm_questions TRIPLE [CPU [FEATURES]]

prints `{"cpus": [...], "names": {feature: description}, "on": [features of the CPU]}`. It is a
process of its own, because LLVM ends the process over a CPU that does not fit the triple, and
writes its lists to the standard error.

LLVM has no function that tells the features of a CPU. But it inlines a function only where the
caller's CPU has all that the callee may use, so one callee for each feature tells.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tvm.error import CheckError, message

if TYPE_CHECKING:
    import subprocess

# Modes rather than features of a CPU; LLVM refuses to mix them.
_MODES: Final = frozenset(
    ("16bit-mode", "32bit-mode", "64bit-mode", "64bit", "32bit", "e", "execute-only", "noarm",
     "rvi20u32")
)  # fmt: skip
# RISC-V refuses these without others beside them, or for 64 bits.
_NEVER_ALONE: Final = ("experimental-", "x", "zcf", "zclsd", "zilsd")
# Profiles of 64 bits, which no core of 32 has.
_RISCV_64: Final = re.compile(r"rv[a-z]+\d+[us]64$")
# What comes with 64 bits on x86.
_ALWAYS_64: Final = frozenset(("sse", "sse2"))
# Where LLVM compares features one by one before it inlines.
_COMPARED: Final = ("x86_64", "amd64", "i686", "i386", "aarch64", "arm64", "riscv32", "riscv64")
# A length of vectors is a feature beside vectors only.
_VECTOR_LENGTH: Final = re.compile(r"zvl\d+b$")
_ENTRY: Final = re.compile(r"^  (\S+)\s+- (.*?)\.?$", re.MULTILINE)
_LEFT: Final = re.compile(r"call .*?@needs(\d+)\(")


@dataclass(frozen=True)
class CpuFeatures:
    """The CPUs and features of an architecture, and what one CPU has of them."""

    cpus: tuple[str, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    on: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=256)
def ask_llvm(triple: str, cpu: str = "", features: str = "") -> CpuFeatures:
    """The answer for a CPU and what is switched on (`+x`) and off (`-x`) beside it.

    A CPU that LLVM does not know has what every CPU of the architecture has.
    """
    done = _ask(triple, cpu, features)
    if done.returncode != 0:
        complaint = done.stderr.strip().splitlines()
        raise CheckError(
            message(
                f"features of CPU {cpu!r} for {triple}",
                found=complaint[-1] if complaint else f"LLVM ended with {done.returncode}",
                legal="a triple that LLVM knows, and one of its CPUs",
            )
        )
    found = json.loads(done.stdout)
    return CpuFeatures(tuple(found["cpus"]), found["names"], frozenset(found["on"]))


def _ask(*question: str) -> subprocess.CompletedProcess[str]:
    import subprocess  # here and below: most programs ask nothing

    command = [sys.executable, "-m", __name__, *question]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _lists(llvm: Any, triple: str) -> tuple[list[str], dict[str, str]]:
    """CPUs and features, as LLVM prints them for the feature `help`.

    A CPU of this name would do as well, but Hexagon's part ends the process over it.
    """
    import tempfile

    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            llvm.Target.from_triple(triple).create_target_machine(features="+help")
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        text = file.read().decode(errors="replace")
    cpus, _, features = text.partition("Available features for this target:")
    return [name for name, _ in _ENTRY.findall(cpus)], dict(_ENTRY.findall(features))


def _features_on(llvm: Any, triple: str, cpu: str, extra: str, names: list[str]) -> list[str]:
    arch = triple.partition("-")[0]
    given = [part for part in extra.split(",") if part]
    same = arch == "arm" or arch.startswith(("armv", "thumb"))
    if arch not in _COMPARED and not same:
        return [name for name in names if f"+{name}" in given]
    # what a CPU is tuned for would count as a feature, so the callee starts from nothing
    bare = "".join(f"-{name}," for name in names) if arch.startswith(("a", "riscv")) else ""
    least, word = "", []
    if same:  # it inlines only what has the very same features, so each is asked for beside them
        bare = "".join(f"{one}," for one in given)
    if "86" in arch or arch == "amd64":
        least, word = "i386", ["+64bit"] if "64" in arch else []
    own = ",".join([*word, *given])
    of = cpu if same else least
    parts = [f'target triple = "{triple}"', "@at = global i32 0"]
    for i, name in enumerate(names):
        parts.append(f"define internal void @needs{i}() #{i} {{")
        parts.append(f"  store volatile i32 {i}, ptr @at\n  ret void\n}}")
        beside = "+v," if _VECTOR_LENGTH.match(name) else ""
        needs = ",".join([bare + beside + "+" + name, *word])
        parts.append(f'attributes #{i} = {{ "target-cpu"="{of}" "target-features"="{needs}" }}')
    calls = "".join(f"  call void @needs{i}()\n" for i in range(len(names)))
    callers = {"asked": (cpu or ("x86-64" if word else least), own)}
    if least:  # what even the least CPU has inlined is tuning, which x86 leaves out of account
        callers["least"] = (least, ",".join(word))
    for number, (name, (of_cpu, has)) in enumerate(callers.items(), len(names)):
        parts.append(f"define void @{name}() #{number} {{\n{calls}  ret void\n}}")
        own_words = f'"target-cpu"="{of_cpu}" "target-features"="{has}"'
        parts.append(f"attributes #{number} = {{ {own_words} }}")
    module = llvm.parse_assembly("\n".join(parts))
    machine = llvm.Target.from_triple(triple).create_target_machine()
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    found = {}
    for name in callers:
        left = {int(number) for number in _LEFT.findall(str(module.get_function(name)))}
        found[name] = [feature for i, feature in enumerate(names) if i not in left]
    nothing = set(found.get("least", ())) - _ALWAYS_64
    return [feature for feature in found["asked"] if feature not in nothing]


def main(arguments: list[str]) -> int:
    """Print the answer; 0 when there is one."""
    import llvmlite.binding as llvm  # a heavy package

    llvm.initialize_all_targets()
    triple, cpu, extra = [*arguments, "", ""][:3]
    try:
        cpus, names = _lists(llvm, triple)
        refused = _NEVER_ALONE if triple.startswith("riscv") else ()
        known = [n for n in names if n not in _MODES and not n.startswith(refused)]
        if triple.startswith("riscv32"):
            known = [n for n in known if not _RISCV_64.match(n)]
        on = _features_on(llvm, triple, cpu if cpu in cpus else "", extra, known)
    except RuntimeError as err:
        print(str(err).strip(), file=sys.stderr)
        return 1
    print(json.dumps({"cpus": cpus, "names": names, "on": on}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
