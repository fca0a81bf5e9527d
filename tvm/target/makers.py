"""Functions that make the targets of common devices."""

from __future__ import annotations

from typing import Any

from .target import Target


def _join(words: list[str], options: Any) -> Target:
    extra = options.split() if isinstance(options, str) else list(options or ())
    return Target(" ".join([*words, *extra]))


def create(target: Any) -> Target:
    """A target from any of its written forms."""
    return Target(target)


def cuda(model: str = "unknown", arch: str | None = None, options: Any = None) -> Target:
    """An NVIDIA GPU."""
    words = ["cuda", f"-model={model}"]
    return _join([*words, f"-arch={arch}"] if arch else words, options)


def rocm(model: str = "unknown", options: Any = None) -> Target:
    """An AMD GPU."""
    return _join(["rocm", f"-model={model}"], options)


def mali(model: str = "unknown", options: Any = None) -> Target:
    """An Arm Mali GPU."""
    return _join(["opencl", "-device=mali", f"-model={model}"], options)


def bifrost(model: str = "unknown", options: Any = None) -> Target:
    """An Arm Mali GPU of the Bifrost architecture."""
    return _join(["opencl", "-device=bifrost", f"-model={model}"], options)


def intel_graphics(model: str = "unknown", options: Any = None) -> Target:
    """An Intel integrated GPU."""
    words = ["opencl", "-device=intel_graphics", f"-model={model}", "-thread_warp_size=16"]
    return _join(words, options)


def adreno(model: str = "unknown", options: Any = None, clml: bool = False) -> Target:
    """A Qualcomm Adreno GPU; `clml` hands work to its library."""
    keys = "adreno,opencl,gpu,clml" if clml else "adreno,opencl,gpu"
    return _join(["opencl", "-device=adreno", f"-keys={keys}", f"-model={model}"], options)


# Boards by name: triple, CPU, features, cores.
_BOARDS = {
    "pixel2": ("arm64-linux-android", "", "+neon", 0),
    "mate10": ("arm64-linux-android", "", "+neon", 0),
    "p20": ("arm64-linux-android", "", "+neon", 0),
    "rasp3b": ("armv7l-linux-gnueabihf", "", "+neon", 0),
    "rasp4b": ("armv8l-linux-gnueabihf", "cortex-a72", "+neon", 0),
    "rasp4b64": ("aarch64-linux-gnu", "cortex-a72", "+neon", 0),
    "rk3399": ("aarch64-linux-gnu", "", "+neon", 0),
    "pynq": ("armv7a-linux-eabi", "cortex-a9", "+neon", 0),
    "ultra96": ("aarch64-linux-gnu", "cortex-a53", "+neon", 0),
}


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """An Arm CPU by the name of its board."""
    triple, cpu, features, _ = _BOARDS.get(model, ("", "", "", 0))
    words = ["llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}"]
    words += [f"-mtriple={triple}"] if triple else []
    words += [f"-mcpu={cpu}"] if cpu else []
    words += [f"-mattr={features}"] if features else []
    return _join(words, options)


def rasp(options: Any = None) -> Target:
    """A Raspberry Pi 3B."""
    return arm_cpu("rasp3b", options)


def riscv_cpu(model: str = "sifive-u54", options: Any = None) -> Target:
    """A RISC-V CPU by the name of its core; SiFive's E series has 32 bits."""
    cpu = model if model.startswith("sifive-") else "generic-rv64"
    bits, abi = ("32", "ilp32") if cpu.startswith("sifive-e") else ("64", "lp64d")
    words = ["llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}",
             f"-mtriple=riscv{bits}-unknown-linux-gnu", f"-mcpu={cpu}", f"-mabi={abi}"]  # fmt: skip
    return _join(words, options)


def hexagon(cpu_ver: str = "v68", **kwargs: Any) -> Target:
    """A Qualcomm Hexagon DSP; options are `num_cores`, `vtcm_capacity`, `llvm_options`."""
    config: dict[str, Any] = {
        "kind": "hexagon",
        "mtriple": "hexagon",
        "mcpu": f"hexagon{cpu_ver}",
        "mattr": [f"+hvx{cpu_ver}", "+hvx-length128b"],
        "num-cores": int(kwargs.pop("num_cores", 4)),
        "vtcm-capacity": int(kwargs.pop("vtcm_capacity", 0)),
    }
    llvm_options = kwargs.pop("llvm_options", None)
    if llvm_options:
        config["llvm-options"] = llvm_options.split()
    if kwargs:
        raise TypeError(f"hexagon: unknown option {next(iter(kwargs))!r}")
    return Target(config)


def stm32(series: str = "unknown", options: Any = None) -> Target:
    """An STM32 microcontroller by its series."""
    cores = {"stm32H7xx": "cortex-m7", "stm32F7xx": "cortex-m7", "stm32F4xx": "cortex-m4",
             "stm32L5xx": "cortex-m33", "stm32U5xx": "cortex-m33"}  # fmt: skip
    return _join(["c", "-keys=arm_cpu,cpu", f"-mcpu={cores.get(series, 'cortex-m4')}"], options)


