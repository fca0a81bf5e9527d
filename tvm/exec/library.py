"""A compiled library, loaded to run its `main`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tvm.error import TVMError, message
from tvm.exec.command import Mistake
from tvm.exec.files import check_input
from tvm.runtime import cpu, load_module
from tvm.runtime.signing import ENVIRONMENT
from tvm.runtime.vm import VirtualMachine

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def add_trust(parser: argparse.ArgumentParser) -> None:
    """The option that tells whose libraries are loaded."""
    parser.add_argument(
        "--trusted-key", type=Path, action="append", metavar="KEY.pub",
        help="refuse what this key, or another one given, did not sign; "
        f"default: the keys in {ENVIRONMENT}",
    )  # fmt: skip


def load_library(path: Path, trusted: Sequence[Path] | None = None) -> VirtualMachine:
    """A virtual machine on the library's code; refused if `tvm compile` did not make the file,
    or if none of the trusted keys signed it.
    """
    check_input(path, "the library")
    try:
        return VirtualMachine(load_module(str(path.absolute()), trusted_keys=trusted), cpu())
    except TVMError:
        raise                       # says already what, where and why
    except (OSError, TypeError, ValueError) as error:
        asked = f"cannot load {str(path)!r}"
        legal = "a library that `tvm compile` wrote on this kind of machine"
        raise Mistake(message(asked, found=str(error), legal=legal)) from error


def as_arrays(result: Any) -> list[NDArray[np.generic]]:
    """The tensors that `main` gave, one or several, as numpy arrays."""
    values = result if isinstance(result, Sequence) else [result]
    return [value.numpy() for value in values]
