"""The floors of the house: a package imports its own part and lower floors, nothing else."""

from __future__ import annotations

import pytest

from tests.structure.sources import Import, modules, own_imports, show, sources

pytestmark = pytest.mark.pure

# From the ground up. Parts on one floor do not import each other; `x.*` makes each package in x
# a part of its own. A module belongs to the longest name that begins its own.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("tvm.support", "tvm.error", "tvm.base"),
    ("tvm.ffi",),
    ("tvm.runtime",),
    ("tvm.rpc", "tvm.nd", "tvm._ffi", "tvm.libinfo"),
    ("tvm.ir",),
    ("tvm.contrib.by_value",),
    ("tvm.contrib.popen_worker",),
    ("tvm.contrib.popen_pool",),
    ("tvm.script",),
    ("tvm.target",),
    ("tvm.contrib.thrust",),
    ("tvm.tir",),
    ("tvm.arith",),
    ("tvm.tir.index_digits", "tvm.tir.index_range"),
    ("tvm.tir.analysis", "tvm.tir.index_map"),
    ("tvm.tir.transform", "tvm.tir.script", "tvm.tir.interp", "tvm.te"),
    ("tvm.tir.tensor_intrin",),
    ("tvm.tir.schedule",),
    ("tvm.topi", "tvm.dlight"),
    ("tvm.backend",),
    ("tvm.backend.c_family",),  # what the writers of C and of languages in its manner share
    ("tvm.backend.*",),
    ("tvm.backend.device",),  # what the writers of GPU source share
    ("tvm.backend.llvm_gpu",),  # LLVM's code for GPUs: the writers of the CPU, with launches
    ("tvm.backend.nvptx",),
    ("tvm.backend.cuda", "tvm.backend.metal", "tvm.backend.opencl", "tvm.backend.webgpu"),
    ("tvm.backend.rocm", "tvm.backend.vulkan"),  # HIP is CUDA in other words; and WGSL, with more
    ("tvm.tir.pipeline",),
    ("tvm.tir.kernels_apart",),
    ("tvm.tir.build",),
    ("tvm.codegen",),
    ("tvm.meta_schedule",),
    ("tvm.relax",),
    ("tvm.relax.op",),
    ("tvm.relax.analysis", "tvm.relax.loops", "tvm.relax.packed_product"),
    ("tvm.relax.dpl", "tvm.relax.ir"),
    ("tvm.relax.transform", "tvm.relax.script", "tvm.relax.interp"),
    ("tvm.relax.backend.gpu_generic.cumsum",),
    ("tvm.relax.backend.gpu_generic.sampling",),
    ("tvm.relax.vm", "tvm.relax.backend", "tvm.relax.distributed.transform"),
    ("tvm.relax.backend.cpu_generic", "tvm.relax.backend.gpu_generic", "tvm.relax.backend.metal"),
    ("tvm.relax.backend.adreno", "tvm.relax.backend.cuda", "tvm.relax.backend.rocm"),
    ("tvm.relax.pipeline",),
    ("tvm.relax.vm_build",),
    ("tvm.meta_schedule.relax_integration", "tvm.dlight.benchmark", "tvm.relax.quantization"),
    ("tvm.relax.base_py_module", "tvm.relax.testing"),
    ("tvm.relax.pyfunc",),
    ("tvm.relax.relax_to_pyfunc_converter",),
    ("tvm.relax.training",),
    ("tvm.relax.frontend",),
    ("tvm.relax.frontend.*", "tvm.relay", "tvm.contrib"),
    ("tvm.relay.frontend", "tvm.relay.backend.contrib", "tvm.meta_schedule.relay_integration",
     "tvm.parser"),
    ("tvm.contrib.pipeline_executor_build", "tvm.contrib.relay_viz", "tvm.contrib.target"),
    ("tvm.contrib.pipeline_executor",),
    ("tvm.driver", "tvm.relax.testing.nn"),
    ("tvm.report", "tvm.serve"),
    ("tvm.exec", "tvm.testing"),
)

# Thin files of public names; they may show any floor, and the floors do not import them.
DOORS: tuple[str, ...] = (
    "tvm",
    "tvm.__main__",
    "tvm.script.ir",
    "tvm.script.relax",
    "tvm.script.tir",
    "tvm.script.tirx",
    "tvm.tirx",
    "tvm.tirx.analysis",
    "tvm.tirx.transform",
)


def _parts() -> dict[str, int]:
    found: dict[str, int] = {}
    for floor, names in enumerate(FLOORS):
        for name in names:
            if name.endswith(".*"):
                depth = name.count(".")
                inside = [m.split(".") for m in modules() if m.count(".") > depth]
                prefixes = {".".join(parts[: depth + 1]) for parts in inside}
                for part in prefixes:
                    if part.startswith(name[:-1]):
                        found.setdefault(part, floor)  # one named below keeps its floor
            else:
                found[name] = floor
    return found


PARTS = _parts()


def part_of(module: str) -> str:
    """The longest part name that begins the module's, or "" if it stands on no floor."""
    name = module
    while name not in PARTS and "." in name:
        name = name.rpartition(".")[0]
    return name if name in PARTS else ""


def fault(found: Import) -> str | None:
    """Why the import may not stand, or None."""
    if found.importer in DOORS:
        return None
    where = f"{show(found.path)}:{found.line}: "
    if found.target in DOORS:
        return f"{where}{found.importer} may not import the door {found.target}"
    mine, theirs = part_of(found.importer), part_of(found.target)
    if mine == theirs or PARTS[theirs] < PARTS[mine]:
        return None
    return f"{where}{found.importer} may not import {found.target}"


def test_every_module_stands_on_a_floor() -> None:
    homeless = [m for m in sorted(modules()) if m not in DOORS and not part_of(m)]
    assert not homeless, f"name a floor for these in {__file__}: {homeless}"


def test_imports_go_downwards() -> None:
    faults = [f for found in own_imports() if (f := fault(found))]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize(
    ("importer", "target", "legal"),
    [
        ("tvm.tir.stmt", "tvm.tir.expr", True),
        ("tvm.tir.transform.simplify", "tvm.arith.analyzer", True),
        ("tvm.arith.analyzer", "tvm.tir.expr", True),
        ("tvm.tir.scalar", "tvm.relax.op", False),
        ("tvm.topi.nn", "tvm.dlight.cpu", False),
        ("tvm.ir.module", "tvm", False),
    ],
)
def test_rule(importer: str, target: str, legal: bool) -> None:
    found = Import(sources()[0], 1, importer, target)
    assert (fault(found) is None) is legal
