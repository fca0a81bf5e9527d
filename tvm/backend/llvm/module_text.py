"""The text of one LLVM module: globals, declarations, functions, in a stable order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tvm.backend.host_functions import Signature
from tvm.error import CheckError, message
from tvm.runtime.imports import CONTEXT
from tvm.support.naming import NameTable
from tvm.target.cpu_model import arch_of_triple
from tvm.target.named_cpu import named_cpu

from .types import bytes_literal, quoted

if TYPE_CHECKING:
    from tvm.ir.host_tensor import HostTensor

INLINE_CONSTANT_BYTES = 1024  # larger ones stay outside of the text, which LLVM would read slowly
# The line that tells which intrinsics a script calls by name, with operands that nobody checked.
FOREIGN_MARK = "; called by name: "
# The forms of functions by LLVM's names of their attributes, which `ModuleText.text` lists.
PLAIN: Final = "#0"
AS_IT_IS: Final = "#1"  # only checks arguments and calls: optimizing these takes most of the time
CALLER: Final = "#2"  # optimised, but nothing that it calls is inlined

_WEAK = "declare extern_weak "


@dataclass
class ModuleText:
    """Collects the parts; `text()` puts them together."""

    machine_triple: str = ""
    data_layout: str = ""
    cpu: str = ""
    features: str = ""
    fast_math: str = ""
    functions: list[str] = field(default_factory=list)
    constants: dict[str, HostTensor] = field(default_factory=dict)
    signatures: dict[str, Signature] = field(default_factory=dict)
    names: NameTable = field(default_factory=NameTable)
    uses_context: bool = False
    foreign: set[str] = field(default_factory=set)  # intrinsics that scripts call by name
    imported: list[str] = field(default_factory=list)  # LLVM text that scripts bring along
    modern: bool = True  # LLVM 16 and later write memory(none) for readnone
    named_metadata: dict[str, str] = field(default_factory=dict)
    declares: dict[str, str] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    strings: dict[bytes, str] = field(default_factory=dict)
    _symbols: dict[HostTensor, str] = field(default_factory=dict)  # of constants: hashed once
    nodes: list[str] = field(default_factory=list)
    shared: dict[str, str] = field(default_factory=dict)

    def declare(self, name: str, result: str, params: str, attributes: str = "") -> str:
        """The operand for calling an outside function; declared once, and always alike."""
        line = f"declare {result} {quoted(name)}({params}){' ' + attributes if attributes else ''}"
        self.add_declare(name, line)
        return quoted(name)

    def add_declare(self, name: str, line: str) -> None:
        """Declare an outside function by a line, unless one like it is there."""
        if line.startswith(_WEAK):
            self.declares[name] = line
            return
        known = self.declares.setdefault(name, line)
        if known != line and known.split("(")[0] != line.split("(")[0]:
            raise CheckError(
                message(
                    f"call external function {name}",
                    found=f"two forms of it: {known} and {line}",
                    legal="one result type for a function",
                )
            )

    def declare_weak(self, name: str, result: str, params: str) -> None:
        """A function that may be missing: then its address is null."""
        self.add_declare(name, f"{_WEAK}{result} {quoted(name)}({params})")

    def string(self, text: str) -> str:
        """The operand for a zero-terminated string."""
        data = text.encode() + b"\0"
        name = self.strings.get(data)
        if name is None:
            name = f"@.str{'.' + str(len(self.strings)) if self.strings else ''}"
            self.strings[data] = name
            self.globals[name] = (
                f"{name} = private unnamed_addr constant [{len(data)} x i8] "
                f'c"{bytes_literal(data)}", align 1'
            )
        return name

    def has_feature(self, name: str) -> bool:
        """Whether the CPU has a feature, by its name or as it was switched."""
        for word in reversed(self.features.split(",")):  # the last word counts
            if word[1:] == name:
                return word[0] == "+"
        arch = arch_of_triple(self.machine_triple)
        return bool(self.cpu) and name in named_cpu(self.cpu, arch, 1).features

    def slot(self, prefix: str) -> str:
        """The operand for a fresh pointer-sized variable, null at first."""
        name = quoted(self.names.fresh(prefix))
        self.globals[name] = f"{name} = internal global ptr null, align 8"
        return name

    def context(self) -> str:
        """The operand for the variable in which a loader puts the library's own module."""
        self.uses_context = True
        name = f"@{CONTEXT}"
        self.globals[name] = f"{name} = weak global ptr null, align 8"
        return name

    def constant(self, tensor: HostTensor, hint: str) -> str:
        """The operand for constant data: inside the text when small, else an outside symbol."""
        values = tensor.numpy()
        if values.dtype == bool:
            values = values.view("uint8")
        data = values.tobytes() if values.nbytes <= INLINE_CONSTANT_BYTES else None
        if data is not None:
            name = quoted(self.names.fresh(hint))
            self.globals[name] = (
                f"{name} = private unnamed_addr constant [{len(data)} x i8] "
                f'c"{bytes_literal(data)}", align 64'
            )
            return name
        symbol = self._symbols.get(tensor)
        if symbol is None:
            symbol = self._symbols[tensor] = f"__tvm_const_{tensor.digest()[:20]}"
        self.constants.setdefault(symbol, tensor)
        self.globals["@" + symbol] = (
            f"@{symbol} = external constant [{values.nbytes} x i8], align 64"
        )
        return "@" + symbol

    def metadata(self, content: str) -> str:
        """The operand for a metadata node; `{self}` stands for the node itself."""
        name = self.next_metadata()
        self.nodes.append(f"{name} = {content.replace('{self}', name)}")
        return name

    def next_metadata(self) -> str:
        """The operand that the next new metadata node will have."""
        return f"!{len(self.nodes)}"

    def shared_metadata(self, content: str) -> str:
        """The operand for a metadata node; equal contents are one node."""
        name = self.shared.get(content)
        if name is None:
            name = self.shared[content] = self.metadata(content)
        return name

    def _vscale_range(self) -> str:
        """How long scalable vectors may be, in multiples of 128 bits; 2048 bits are Arm's limit."""
        if "aarch64" not in self.machine_triple:
            return ""
        scalable = any(self.has_feature(name) for name in ("sve", "sve2", "sme"))
        return "vscale_range(1,16) " if scalable else ""

    def text(self, source_name: str = "tvm") -> str:
        """The whole module."""
        parts = [f'source_filename = "{source_name}"']
        if self.foreign:
            parts.append(FOREIGN_MARK + ", ".join(sorted(self.foreign)))
        if self.machine_triple:
            parts.append(f'target datalayout = "{self.data_layout}"')
            parts.append(f'target triple = "{self.machine_triple}"')
        parts += ["", *self.globals.values(), ""] if self.globals else [""]
        parts += self.functions
        defined = {signature.name for signature in self.signatures.values()}
        used = [line for name, line in sorted(self.declares.items()) if name not in defined]
        machine = self._vscale_range() + "".join(
            f'"target-{name}"="{value}" '
            for name, value in (("cpu", self.cpu), ("features", self.features))
            if value
        )
        parts += [*used, "", f"attributes {PLAIN} = {{ nounwind {machine}}}"]
        parts.append(f"attributes {AS_IT_IS} = {{ nounwind noinline optnone {machine}}}")
        if any(f" {CALLER} " in text.partition("\n")[0] for text in self.functions):
            parts.append(f"attributes {CALLER} = {{ nounwind {machine}}}")
        if self.nodes:
            named = [f"!{name} = !{{{nodes}}}" for name, nodes in self.named_metadata.items()]
            parts += ["", *named, *self.nodes]
        return "\n".join(parts) + "\n"


