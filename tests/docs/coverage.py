"""`docs/coverage.md`: what of TVM and ONNX is there; `python -m tests.docs.coverage --write`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module

import onnx.defs

from tests.docs.pages import ROOT
from tests.structure import reference

PAGE = ROOT / "docs" / "coverage.md"
TRANSFORMS = ("tvm.tir.transform", "tvm.relax.transform")


def text() -> str:
    sections = [_names(), _operators(), _passes(), _functions(), _onnx(), _torch()]
    head = "# Coverage\n\nWritten by `python -m tests.docs.coverage --write`.\n"
    return head + "".join(f"\n{section}\n" for section in map("\n".join, sections))


def _names() -> Iterator[str]:
    yield "## Public names"
    yield ""
    yield "Names of TVM v0.22 (`tvm.relay`: v0.18) that are there, parameters and defaults too."
    yield ""
    yield "| package | there | of |"
    yield "|---|---|---|"
    for line in reference.COUNTED.read_text(encoding="utf-8").splitlines():
        name, count, _, total = line.split()
        yield f"| `{name}` | {count} | {total} |"


def _operators() -> Iterator[str]:
    from tvm.ir.op import Op

    for package in ("tvm.tir.op", "tvm.relax.op", "tvm.relax.vm"):
        import_module(package)
    ours = set(Op.list_op_names())
    yield "## Operators"
    for title, file, prefix in (("Relax", "graph_ops", "relax."), ("TIR", "tir_ops", "tir.")):
        lines = (reference.DATA / f"{file}.txt").read_text(encoding="utf-8").splitlines()
        wanted = {line.split("(")[0].strip() for line in lines if line.startswith(prefix)}
        yield ""
        yield from _share(title, sorted(wanted), ours)


def _passes() -> Iterator[str]:
    yield "## Passes"
    for name in TRANSFORMS:
        wanted = {
            e.name
            for e in reference.entries()
            if e.module.startswith(name) and not e.owner and e.name[0].isupper()
        }
        module = import_module(name)
        yield ""
        yield from _share(f"`{name}`", sorted(wanted), {n for n in wanted if hasattr(module, n)})


def _functions() -> Iterator[str]:
    """What is looked up by name at run time, by family; what devices bring comes with them."""
    from tvm.ffi import get_global_func

    lines = (reference.DATA / "packed_functions.txt").read_text(encoding="utf-8").splitlines()
    families: dict[str, list[str]] = {}
    for name in lines:
        # a name that ends with a dot is the beginning of names that programs complete
        if name and not name.startswith("#") and not name.endswith("."):
            families.setdefault(_family(name), []).append(name)
    yield "## Functions by name"
    yield ""
    yield "What programs look up at run time. Families of devices and of vendors' libraries come"
    yield "with their backends."
    for family, names in families.items():
        there = {n for n in names if get_global_func(n, True) is not None}
        if there:
            yield ""
            yield from _share(f"`{family}`", names, there)


def _family(name: str) -> str:
    """`tvm.contrib.sort` of `tvm.contrib.sort.topk`, `runtime` of `runtime.NumThreads`."""
    return name.rpartition(".")[0]


def _share(title: str, wanted: Sequence[str], ours: set[str]) -> Iterator[str]:
    missing = [name for name in wanted if name not in ours]
    yield f"{title}: {len(wanted) - len(missing)} of {len(wanted)}."
    if missing:
        yield "Not yet: " + ", ".join(f"`{name}`" for name in missing) + "."


def _onnx() -> Iterator[str]:
    from tvm.relax.frontend.onnx.bodies import ADOPTED, has_body
    from tvm.relax.frontend.onnx.registry import known_operators

    schemas = {s.name for s in onnx.defs.get_all_schemas() if s.domain == ""}
    known = known_operators()
    newest = onnx.defs.onnx_opset_version()
    bodies = {n for n in schemas - known.keys() if has_body(n, "", newest)}
    yield "## ONNX"
    yield ""
    yield "An operator changes with the operator set; the numbers are the sets since which its"
    yield "converters hold."
    yield ""
    yield "| operator | since |"
    yield "|---|---|"
    for name in sorted(known):
        yield f"| {name} | {', '.join(map(str, sorted(known[name])))} |"
    yield ""
    adopted = {f"com.microsoft.{name}" for name in ADOPTED}
    yield "Read by the bodies that ONNX defines them by:"
    yield ", ".join(sorted(bodies | adopted)) + "."
    yield ""
    missing = sorted(schemas - known.keys() - bodies)
    yield f"Not yet: {', '.join(missing)}." if missing else "None of ONNX's own is missing."


def _torch() -> Iterator[str]:
    from tvm.relax.frontend.torch.registry import functions, modules

    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in sorted(names)) + "."

    operators = [name for name in functions() if "." not in name]
    yield "## PyTorch"
    yield ""
    yield "Operators by their name in ATen and in `torch`; in-place forms and overloads share the"
    yield "converters. Of the core operators of ATen, gradients, random numbers and the Fourier"
    yield "transforms are not there."
    yield ""
    yield f"{len(operators)} operators: {listed(operators)}"
    yield ""
    yield f"{len(modules())} modules of `torch.nn` in traced graphs: {listed(modules())}"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")
