"""`tvm run model.so --inputs in.npz --outputs out.npz`: a compiled library on given arrays."""

from __future__ import annotations

import argparse
from pathlib import Path

from tvm.exec import signature
from tvm.exec.command import Outcome, Steps
from tvm.exec.files import check_output, load_arrays, save_arrays
from tvm.exec.library import add_trust, as_arrays, load_library
from tvm.exec.shapes import show_shape
from tvm.runtime import tensor


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("library", type=Path, metavar="LIBRARY", help="what tvm compile wrote")
    parser.add_argument(
        "--inputs", type=Path, required=True, metavar="IN.npz", help="arrays named for the inputs"
    )
    parser.add_argument(
        "--outputs", type=Path, required=True, metavar="OUT.npz", help="where the results go"
    )
    add_trust(parser)


def run(args: argparse.Namespace) -> Outcome:
    check_output(args.outputs, "the outputs")
    steps = Steps(args.verbose)
    with steps.step("load"):
        vm = load_library(args.library, args.trusted_key)
        main = vm.signature("main")
        arrays = signature.in_order(main.params, load_arrays(args.inputs), repr(str(args.inputs)))
    with steps.step("run"):
        results = as_arrays(vm["main"](*map(tensor, arrays)))
    named = {value.name: array for value, array in zip(main.results, results, strict=True)}
    with steps.step("write"):
        save_arrays(args.outputs, named)
    lines = [f"wrote {args.outputs}"]
    lines += [f"  {name}: {array.dtype} {show_shape(array.shape)}" for name, array in named.items()]
    return Outcome(
        "\n".join(lines),
        {
            "output": str(args.outputs),
            "outputs": [
                {"name": name, "shape": list(array.shape), "dtype": str(array.dtype)}
                for name, array in named.items()
            ],
            "seconds": steps.seconds,
        },
    )
