"""Networks of torch for `benchmarks.imports`: by `torch.export` and by `torch.compile`.

Networks are those of `benchmarks.exported` and every architecture that transformers can make small
(`benchmarks.architectures`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

import tvm
from benchmarks import architectures, exported
from benchmarks.imports import Case, Source, difference
from tvm import relax
from tvm.relax.frontend.torch import from_exported_program, relax_dynamo


def cases(group: str) -> dict[str, Case]:
    """The networks of a group: `export`, `compile`, `architectures`."""
    torch.set_num_threads(1)
    if group == "architectures":
        return {kind: _exports(_architecture(kind)) for kind in architectures.names()}
    how = _exports if group == "export" else _compiles
    found = {name: how(network) for name, network in exported.NETWORKS.items()}
    if group == "compile":
        found |= {kind: how(_architecture(kind)) for kind in architectures.names()}
    return found


def _architecture(kind: str) -> exported.Network:
    return exported.Network(kind, *architectures.network(kind))


def _exports(network: exported.Network) -> Case:
    def run() -> Iterator[tuple[str, float]]:
        try:
            module, program = exported.exported(network)
        except Exception as err:  # whatever torch does not export
            raise Source(f"{type(err).__name__}: {err}") from err
        machine = relax.VirtualMachine(
            tvm.compile(from_exported_program(program), "llvm"), tvm.cpu()
        )
        for which in range(exported.SIZES):
            given = network.inputs(which)
            args, named = exported._arguments(given)
            with torch.no_grad():
                if exported._refusal(program, args, named) is not None:
                    continue
                wanted = exported._tensors(module(*args, **named))
            got = exported._tensors(
                machine["main"](*[tvm.runtime.tensor(value) for value in given.values()])
            )
            yield _shapes(given), difference([w.numpy() for w in wanted], [g.numpy() for g in got])

    return run


def _compiles(network: exported.Network) -> Case:
    def run() -> Iterator[tuple[str, float]]:
        try:
            module = exported.module_of(network)
            given = [network.inputs(which) for which in range(exported.SIZES)]
            wanted = []
            with torch.no_grad():
                for one in given:
                    args, named = exported._arguments(one)
                    wanted.append(exported._tensors(module(*args, **named)))
        except Exception as err:  # whatever torch does not run
            raise Source(f"{type(err).__name__}: {err}") from err
        try:
            plain = torch.compile(module, backend="eager", dynamic=True)
            with torch.no_grad():
                for one in given:
                    args, named = exported._arguments(one)
                    plain(*args, **named)
        except Exception as err:  # whatever dynamo itself does not trace
            raise Source(f"torch.compile: {type(err).__name__}: {err}") from err
        torch._dynamo.reset()
        fast = torch.compile(module, backend=relax_dynamo(), dynamic=True)
        for one, want in zip(given, wanted):
            args, named = exported._arguments(one)
            with torch.no_grad():
                got = exported._tensors(fast(*args, **named))
            yield _shapes(one), difference([w.numpy() for w in want], [g.numpy() for g in got])

    return run


def _shapes(given: Any) -> str:
    return " ".join("x".join(map(str, value.shape)) for value in given.values())
