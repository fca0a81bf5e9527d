"""Which set of default rules a target has, and the figures of it that rules read."""

from __future__ import annotations

from tvm.error import message
from tvm.target.codegen import target_has_features
from tvm.target.target import Target

TENSOR_CORE_SINCE = 75  # Turing, of CUDA's compute capabilities


def rule_kind(target: Target) -> str:
    """The name of the default rules, postprocessors and mutators of a target."""
    name = target.kind.traits.tuning_rules or ("cuda" if "gpu" in target.keys else "")
    if name == "llvm":
        return _cpu_kind(target)
    if name == "cuda" and sm_version(target) >= TENSOR_CORE_SINCE:
        return "cuda-tensorcore"
    if name:
        return name
    raise ValueError(
        message(
            f"meta_schedule: no default rules for the target {target}",
            legal="llvm, c, hexagon, or the kind of a GPU; or rules, postprocs and mutator_probs "
            "that are given to the space generator",
        )
    )


def _cpu_kind(target: Target) -> str:
    """Only what the target names counts: a plain `llvm` is searched alike on all machines."""
    if not target.mcpu and not target.mattr:
        return "llvm"
    has = target.features
    if has.is_aarch64:
        if has.has_dotprod:
            return "dotprod"
        return "asimd" if has.has_asimd else "llvm"
    if target.attrs.get("mtriple", "").startswith("riscv"):
        return "rvv" if target_has_features("v", target) else "llvm"
    known = target.cpu.features
    if {"avx512vnni", "avxvnni"} & known:
        return "vnni"
    return "avx512" if {"avx512f", "avx512bw"} <= known else "llvm"


def sm_version(target: Target) -> int:
    """The compute capability of a CUDA target as a number, or -1."""
    digits = str(target.attrs.get("arch", "")).removeprefix("sm_").rstrip("af")
    return int(digits) if digits.isdigit() else -1


def number_of_cores(target: Target) -> int:
    """What the target says (`-num-cores`), or what this machine has."""
    return int(target.attrs.get("num-cores", 0)) or target.cpu.cores


def limit(target: Target, name: str) -> int:
    """A limit of the target, such as `max_threads_per_block`."""
    if name not in target.attrs:
        raise ValueError(
            message(
                f"meta_schedule: missing attribute `{name}` in the target",
                found=str(target),
                legal=f"a target with -{name}=..., or a tag like nvidia/geforce-rtx-3090",
            )
        )
    return int(target.attrs[name])


def require_target(target: Target | None, rule: str) -> Target:
    """The target; refused if the search has none."""
    if target is None:
        raise ValueError(
            message(
                f"{rule}: the target is not defined",
                found="a TuneContext without a target",
                legal="TuneContext(mod, target=...)",
            )
        )
    return target
