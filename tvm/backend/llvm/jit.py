"""From LLVM text to machine code in this process.

    text -> parsed and verified module -> O2 passes -> object bytes -> linked into memory

The object is the only artefact: the same bytes are run here, kept in the disk cache and exported.
LLVM ends the process when it meets an instruction that it cannot select, so text that uses
instructions outside the well-known ones is compiled in another one.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import itertools
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from tvm.error import CheckError, InternalError, message
from tvm.ffi import library
from tvm.support.apart import hearing_signals
from tvm.target.cpu_model import arch_of_triple
from tvm.target.named_cpu import is_tabulated

from . import cache
from .child import ask
from .intrinsic_names import SAFE_INTRINSICS
from .machine import Machine as Machine
from .machine import binding, same_family
from .machine import host_machine as host_machine
from .machine import llvm_triples_match as llvm_triples_match
from .machine import llvm_version as llvm_version
from .module_text import FOREIGN_MARK
from .passes import run_passes
from .single_lane_stores import may_have_single_lane_stores, with_single_lane_stores
from .worker import emit_apart

FOREIGN_SECONDS = 60.0  # so long may LLVM take for a file that others wrote
LARGE_TEXT = 1 << 18  # longer text is compiled in a process, which Ctrl-C can end
FORMAT_VERSION = "6"  # part of every cache key; raise it when LLVM's passes or code change
# Beside other code LLVM gave SPIR-V a number twice; WebAssembly changes the layout of later code.
_ALONE = ("spirv", "wasm")
_lock = threading.RLock()
_names = itertools.count()
_GLOBAL = re.compile(r"@(?:\"([^\"]+)\"|([-\w$.]+))")
_EXTERNAL = re.compile(_GLOBAL.pattern + " = external ")
_ASSEMBLY = re.compile(r"\basm\b")
_ASKED_INTRINSIC = re.compile(r"@(llvm\.[a-z0-9_]+(?:\.[a-z0-9_]+)*)")


_machines: dict[Machine, Any] = {}


def _target_machine(machine: Machine) -> Any:
    """LLVM's own object for `machine`; made once, it costs a millisecond."""
    found = _machines.get(machine)
    if found is None:
        if not in_worker and _may_not_exist(machine) and emit_apart(_EMPTY, machine) is None:
            _emit_alone(_EMPTY, machine, [])  # which says why not
        llvm = binding()
        if machine.triple and not same_family(machine.triple, llvm.get_process_triple()):
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        if machine.triple.startswith("hexagon"):
            llvm.set_option("tvm", "-hexagon-autohvx")  # LLVM leaves its vector unit idle else
        try:
            target = llvm.Target.from_triple(machine.triple or llvm.get_process_triple())
        except RuntimeError as err:
            raise CheckError(
                message(
                    f"machine code for {machine.triple!r}",
                    found=str(err).strip(),
                    legal=f"a triple that LLVM knows, such as {llvm.get_process_triple()}",
                )
            ) from None
        found = target.create_target_machine(
            cpu=machine.cpu,
            features=machine.features,
            opt=machine.opt_level,
            reloc="pic",
            codemodel="default",
            abiname=machine.float_abi,
        )
        if not machine.triple.startswith("spirv"):  # one of these keeps pointers into its module
            _machines[machine] = found
    return found


in_worker = False  # a process that may die: see compile_worker
_EMPTY = "define void @nothing() {\n  ret void\n}\n"


def _may_not_exist(machine: Machine) -> bool:
    """Whether CPU and features are the user's words, over which LLVM could end the process."""
    if machine.features in ("", host_machine().features):
        return bool(machine.cpu) and not is_tabulated(machine.cpu, arch_of_triple(machine.triple))
    return True


def is_native(machine: Machine) -> bool:
    """Whether the code is for this architecture."""
    return not machine.triple or same_family(machine.triple, binding().get_process_triple())


def data_layout(machine: Machine) -> str:
    """The sizes and alignments of `machine`, in LLVM's notation."""
    with _lock:
        return str(_target_machine(machine).target_data)


def parse(text: str, machine: Machine) -> Any:
    """The verified module of `text`."""
    llvm = binding()
    target = _target_machine(machine)
    try:
        module = llvm.parse_assembly(text)
        module.triple = target.triple
        module.data_layout = str(target.target_data)
        module.verify()
    except RuntimeError as err:
        raise InternalError(
            message("compile LLVM text", found=str(err).strip(), where=_near(text, str(err)))
        ) from None
    return module


def _near(text: str, error: str) -> str | None:
    """The line of the text that LLVM complains about, with its neighbours."""
    location = re.search(r"<string>:(\d+)", error)
    if location is None:
        return None
    row = int(location[1]) - 1
    lines = text.splitlines()[max(row - 2, 0) : row + 3]
    return "\n".join(lines)


def optimized(text: str, machine: Machine) -> Any:
    """The module after LLVM's passes."""
    module = parse(text, machine)
    run_passes(module, text, _target_machine(machine), machine)
    if may_have_single_lane_stores(text):
        before = str(module)
        after = with_single_lane_stores(before)
        if after != before:
            module = parse(after, machine)
    return module


def emit_assembly(text: str, machine: Machine) -> str:
    """The machine code of `text` as assembly text."""
    with _lock:
        return str(_target_machine(machine).emit_assembly(optimized(text, machine)))


def emit_bitcode(text: str, machine: Machine) -> bytes:
    """The text in LLVM's binary form."""
    with _lock:
        return bytes(parse(text, machine).as_bitcode())


def text_of_bitcode(content: bytes) -> str:
    """LLVM's binary form as text; RuntimeError for other bytes."""
    with _lock:
        return str(binding().parse_bitcode(content))


def emit_optimized_text(text: str, machine: Machine) -> str:
    """The LLVM text after LLVM's passes."""
    with _lock:
        return str(optimized(text, machine))


def emit_object(
    text: str, machine: Machine, *, keep: bool = True, foreign: bool = False
) -> bytes:
    """The object file of `text`, from the disk cache where it is there.

    `keep` says whether the cache may hold it; `foreign` text was written by others.
    """
    key = object_key(text, machine)
    found = cache.load(key) if keep else None
    if found is not None:
        return found
    if foreign:
        content = _emit_alone(text, machine, ["code of others"], FOREIGN_SECONDS)
    else:
        content = emit_fresh(text, machine)
    if keep:
        cache.store(key, content)
    return content


def object_key(text: str, machine: Machine) -> str:
    """The name of the object of `text` in the disk cache."""
    return cache.key_of([FORMAT_VERSION, _package_versions(), repr(machine), text])


def emit_fresh(text: str, machine: Machine) -> bytes:
    """The object file of `text`, whatever the cache has."""
    unusual = _unusual(text, machine)
    if machine.triple.startswith(_ALONE):
        return _emit_alone(text, machine, unusual)
    if unusual or len(text) > LARGE_TEXT:
        content = emit_apart(text, machine)
        if content is not None:
            return content
    # where that process could not, whoever compiles it once more tells the reason
    if unusual:
        return _emit_alone(text, machine, unusual)
    return hearing_signals(lambda: emit_here(text, machine))


def needs_other_process(text: str, machine: Machine) -> bool:
    """Whether LLVM might end the process that compiles the text."""
    return bool(_unusual(text, machine))


def _unusual(text: str, machine: Machine) -> list[str]:
    unusual = unusual_intrinsics(text)
    if not is_native(machine) and _ASSEMBLY.search(text):
        unusual.append("assembly")  # LLVM has an assembler for this architecture only
    if machine.triple.startswith(_ALONE):
        unusual.append(machine.triple)
    return unusual


def emit_here(text: str, machine: Machine) -> bytes:
    """The object file of `text`, compiled in this process; PTX for NVIDIA's GPUs."""
    with _lock:
        module = optimized(text, machine)
        made = _target_machine(machine)
        if machine.triple.startswith("nvptx"):
            return str(made.emit_assembly(module)).encode()
        return bytes(made.emit_object(module))


def unusual_intrinsics(text: str) -> list[str]:
    """Intrinsics over which LLVM could end the process.

    They are those that a CPU may lack, and those that a script calls with operands of its own.
    """
    asked = set(_ASKED_INTRINSIC.findall(text))
    found = {name for name in asked if not name.startswith(SAFE_INTRINSICS)}
    for line in _lines(text, FOREIGN_MARK):
        found.update(line.removeprefix(FOREIGN_MARK).split(", "))
    if "<vscale x " in text:
        found.add("vectors of unknown length")
    return sorted(found)


def _emit_alone(
    text: str, machine: Machine, unusual: list[str], seconds: float | None = None
) -> bytes:
    """Compile in a process of its own, which may die without harm."""
    fields = [machine.triple, machine.cpu, machine.features, str(machine.opt_level),
              machine.float_abi]  # fmt: skip
    answer = ask("tvm.backend.llvm.compile_worker", fields, text.encode(), seconds)
    if answer.reason:
        raise CheckError(
            message(
                "compile " + ", ".join(unusual) if unusual else "machine code for a CPU",
                found=answer.reason,
                where=f"target {machine.triple}, cpu {machine.cpu or 'any'}",
                legal="intrinsics that this CPU has, with operands of the types they take"
                if unusual
                else "CPUs and features that LLVM has for this triple",
            )
        )
    return answer.content


def _package_versions() -> str:
    import llvmlite

    return f"llvmlite {llvmlite.__version__} python {sys.platform}"


# --- linking into memory ---

_engine: Any = None


class Linked:
    """Code in memory; it stays as long as this object does."""

    def __init__(self, tracker: Any, names: list[str]) -> None:
        self._tracker = tracker
        self._addresses: dict[str, int] = {name: tracker[name] for name in names}

    def address(self, name: str) -> int:
        """Where a symbol lies."""
        return self._addresses[name]

    def has(self, name: str) -> bool:
        """Whether a symbol is known."""
        return name in self._addresses

    def keep_forever(self) -> None:
        """Never unload, not even at the end of Python: threads may be inside the code."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._tracker))
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(_engine))


def link(
    content: bytes | Sequence[bytes], exports: list[str], imports: dict[str, int]
) -> Linked:
    """Load object files; `imports` gives the addresses of what they do not define."""
    return hearing_signals(lambda: _link_here(content, exports, imports))


def _link_here(
    content: bytes | Sequence[bytes], exports: list[str], imports: dict[str, int]
) -> Linked:
    global _engine
    llvm = binding()
    with _lock:
        if _engine is None:
            # LLVM's older linker gives each section memory of its own; in a large process that is
            # too far apart for the code to address, which ends the process
            machine = _target_machine(host_machine())
            newer = sys.platform != "win32"  # its object files are young there
            _engine = llvm.create_lljit_compiler(machine, use_jit_link=newer)
        builder = llvm.JITLibraryBuilder()
        for image in (content,) if isinstance(content, bytes) else content:
            builder.add_object_img(image)
        for name, address in imports.items():
            builder.import_symbol(name, address)
        for name in exports:
            builder.export_symbol(name)
        builder.add_current_process()
        name = f"tvm.{next(_names)}"
        try:
            tracker = builder.link(_engine, name)
        except RuntimeError as err:
            raise CheckError(
                message(
                    "link compiled code",
                    found=str(err).strip(),
                    legal="functions of the module itself, of the C library, or of tvm_ffi",
                )
            ) from None
        return Linked(tracker, exports)


def external_names(text: str) -> list[str]:
    """Functions and data that `text` uses and does not define, without LLVM's own."""
    data = (x for x in _lines(text, "@") if _EXTERNAL.match(x))
    declared = [*_lines(text, "declare "), *data]
    return sorted({name for name in map(_named, declared) if not name.startswith("llvm.")})


def defined_names(text: str) -> list[str]:
    """Functions that `text` defines for others to call."""
    kept = ("define internal", "define private")
    return sorted(_named(x) for x in _lines(text, "define ") if not x.startswith(kept))


def _lines(text: str, head: str) -> Iterator[str]:
    """The lines that begin so; a pattern would take a tenth of a second for a large network."""
    if text.startswith(head):
        yield text.partition("\n")[0]
    at = text.find("\n" + head)
    while at >= 0:
        end = text.find("\n", at + 1)
        yield text[at + 1 : end if end >= 0 else None]
        at = text.find("\n" + head, at + 1)


def _named(line: str) -> str:
    found = _GLOBAL.search(line)
    assert found is not None, "a declaration has a name"
    return found[1] or found[2]


def process_symbol(name: str) -> int | None:
    """The address of a C function of tvm_ffi, the C library, or anything loaded globally."""
    for source in _libraries():
        symbol = getattr(source, name, None)
        if symbol is not None:
            return ctypes.cast(symbol, ctypes.c_void_p).value
    return None


_loaded: list[ctypes.CDLL] = []


def _libraries() -> list[ctypes.CDLL]:
    if not _loaded:
        _loaded.append(library().LIB)
        _loaded.append(ctypes.CDLL(None))
        math_library = ctypes.util.find_library("m")
        if math_library is not None:
            _loaded.append(ctypes.CDLL(math_library))
    return _loaded
