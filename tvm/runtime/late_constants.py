"""Constants that lie in a file of their own, beside the code that reads them.

    program.move_late_bound_consts("consts", byte_limit=1024)
    program.mod.export_library("lib.so")                    # without the large constants
    library = tvm.runtime.load_module("lib.so")
    library["load_late_bound_consts"]("consts")

A byte stands for each constant that is elsewhere; the program says their names, and refuses to run
until they are there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm.error import TVMError, message

from ._tensor import Tensor, tensor
from .params import load_param_dict_from_file, save_param_dict_to_file

if TYPE_CHECKING:
    from .vm_executable import VMModule


def take(module: VMModule, byte_limit: int) -> dict[str, Tensor]:
    """The constants of more bytes than `byte_limit` by name, which the program has no more."""
    large = {
        at: value
        for at, value in enumerate(module.constants)
        if at not in module.missing.values() and value.numpy().nbytes > byte_limit
    }
    names = {f"const_{at}": at for at in large}
    late = {**dict(module.artefact.late), **names}
    module.artefact = replace(module.artefact, late=tuple(late.items()))
    module.missing.update(names)
    module.set_constants({at: tensor(np.zeros(1, "uint8")) for at in large})
    return {name: large[at] for name, at in names.items()}


def give(module: VMModule, found: Mapping[str, Any]) -> None:
    """Bring back the constants that were taken; other names are passed over."""
    absent = [name for name in module.missing if name not in found]
    if absent:
        raise TVMError(
            message("load_late_bound_consts", found=f"no {', '.join(absent)}",
                    legal="the constants that move_late_bound_consts wrote")
        )  # fmt: skip
    module.set_constants({at: found[name] for name, at in module.missing.items()})
    module.missing.clear()


def move(module: VMModule, path: str | os.PathLike[str], byte_limit: int) -> None:
    """Write the constants of more bytes than `byte_limit` to a file, out of the program."""
    save_param_dict_to_file(take(module, byte_limit), str(path))


def load(module: VMModule, path: str | os.PathLike[str]) -> None:
    """Read the constants that `move` wrote."""
    give(module, load_param_dict_from_file(str(path)))
