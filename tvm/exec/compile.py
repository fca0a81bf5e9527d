"""`tvm compile MODEL -o model.so`: a model becomes a library of native code."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.error import message
from tvm.exec.command import Mistake, Outcome, Steps
from tvm.exec.compiled_before import CompiledBefore
from tvm.exec.files import check_output
from tvm.exec.program import LEGAL as LEGAL_PROGRAM
from tvm.exec.program import read_program
from tvm.exec.progress import Progress
from tvm.exec.shapes import LEGAL, LEGAL_SEVERAL, parse_several, parse_shapes
from tvm.ir.transform import PassContext
from tvm.runtime.linker import LIBRARY_FORMS
from tvm.target import Target

if TYPE_CHECKING:
    from tvm.runtime.executable import Executable


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help=LEGAL_PROGRAM)
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PATH", help="the library to write"
    )
    parser.add_argument("--target", default="llvm", help="what to compile for (default: llvm)")
    parser.add_argument(
        "--input-shapes", default="", metavar="SHAPES", help=f"fix input shapes: {LEGAL}"
    )
    parser.add_argument(
        "--shapes", default="", metavar="SHAPES",
        help=f"compile for these sizes too, beside all sizes: {LEGAL_SEVERAL}",
    )  # fmt: skip
    parser.add_argument(
        "--opt-level", type=int, choices=range(4), default=2, help="passes to run (default: 2)"
    )


def run(args: argparse.Namespace) -> Outcome:
    parse_shapes(args.input_shapes)  # a mistake there is told before any work
    several = parse_several(args.shapes)
    target = Target(args.target)
    check_output(args.output, "the library")
    if args.output.suffix not in LIBRARY_FORMS:
        raise Mistake(
            message(
                f"cannot write the library {str(args.output)!r}",
                found=f"suffix {args.output.suffix!r}",
                legal=", ".join(LIBRARY_FORMS),
            )
        )
    steps = Steps(args.verbose)
    suffix = args.output.suffix
    with PassContext(opt_level=args.opt_level):
        with steps.step("look"):
            before = CompiledBefore(args.model, (args.input_shapes, args.shapes), target)
            library = before.library(suffix)
        if library is not None:
            with steps.step("write"):
                library.write(args.output)
            lines, told = library.lines, library.told
        else:
            lines, told = _written(args, several, target, steps, before)
    size = args.output.stat().st_size
    seconds = sum(steps.seconds.values())
    text = f"compiled {args.model} to {args.output}: {size:,} bytes, {seconds:.2f} s"
    return Outcome(
        "\n".join([text, *lines]),
        {
            "output": str(args.output),
            "bytes": size,
            "target": str(target),
            **told,
            "seconds": steps.seconds,
        },
    )


def _written(
    args: argparse.Namespace,
    several: Sequence[Mapping[str, Sequence[int]]],
    target: Target,
    steps: Steps,
    before: CompiledBefore,
) -> tuple[list[str], dict[str, object]]:
    """Write the library of a program that is compiled, or was before; what there is to tell."""
    executable: Executable | None = before.find()
    if executable is None:
        executable = _compiled(args, several, target, steps)
        before.keep(executable)
    lines, told = _functions(executable)

    def keep(draft: Path) -> None:
        before.keep_library(draft, args.output.suffix, lines, told)

    with steps.step("write"):
        executable.export_library(str(args.output), finished=keep)
    return lines, told


def _functions(executable: Executable) -> tuple[list[str], dict[str, object]]:
    """What can be called, in lines and as a record: of a model its inputs and outputs."""
    from tvm.exec import signature
    from tvm.runtime.vm_executable import VMModule

    module = executable.mod
    if not isinstance(module, VMModule):
        names = sorted(module.function_names())
        return [f"  has    {name}" for name in names], {"functions": names}
    lines: list[str] = []
    told: dict[str, object] = {"functions": module.function_names()}
    for info in module.artefact.functions:
        if info.name == "main":
            told |= {
                "inputs": signature.record(info.params), "outputs": signature.record(info.results)
            }  # fmt: skip
        else:
            lines.append(f"  has    {info.name}")
        lines += [f"  takes  {signature.show(value)}" for value in info.params]
        lines += [f"  gives  {signature.show(value)}" for value in info.results]
    return lines, told


def _compiled(
    args: argparse.Namespace,
    several: Sequence[Mapping[str, Sequence[int]]],
    target: Target,
    steps: Steps,
) -> Executable:
    from tvm.driver import compile as compile_module  # passes: an unchanged file needs none
    from tvm.relax.transform.specialize import with_variants

    with steps.step("import"):
        module = read_program(args.model, args.input_shapes)
        if several:
            try:
                module = with_variants(module, several)
            except ValueError as error:
                raise Mistake(str(error)) from error
    with steps.step("compile"), Progress(args):
        executable: Executable = compile_module(module, target=target)
    return executable
