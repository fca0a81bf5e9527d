"""Functions that make the targets of common devices."""

from __future__ import annotations

from typing import Any, Final

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


# Boards by name: the model of the chip, triple, CPU, features.
_KIRIN = ("kirin970", "arm64-linux-android", "", "+neon")
_THUMB = "+neon,+vfp4,+thumb2"
_BOARDS = {
    "pixel2": ("snapdragon835", "arm64-linux-android", "", "+neon"),
    "mate10": _KIRIN,
    "mate10pro": _KIRIN,
    "p20": _KIRIN,
    "p20pro": _KIRIN,
    "rasp3b": ("bcm2837", "armv7l-linux-gnueabihf", "", "+neon"),
    "rasp4b": ("bcm2711", "armv8l-linux-gnueabihf", "cortex-a72", "+neon"),
    "rasp4b64": ("bcm2711", "aarch64-linux-gnu", "cortex-a72", "+neon"),
    "rk3399": ("rk3399", "aarch64-linux-gnu", "", "+neon"),
    "pynq": ("pynq", "armv7a-linux-eabi", "", "+neon"),
    "ultra96": ("ultra96", "aarch64-linux-gnu", "", "+neon"),
    "beagleai": ("beagleai", "armv7a-linux-gnueabihf", "cortex-a15", _THUMB),
    "stm32mp1": ("stm32mp1", "armv7a-linux-gnueabihf", "cortex-a7", _THUMB),
    "thunderx": ("thunderx", "aarch64-linux-gnu", "thunderxt88", "+neon,+crc,+lse"),
}


def arm_cpu(model: str = "unknown", options: Any = None) -> Target:
    """An Arm CPU by the name of its board."""
    chip, triple, cpu, features = _BOARDS.get(model, (model, "", "", ""))
    words = ["llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={chip}"]
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


_HEXAGONS: Final = ("v65", "v66", "v67", "v67t", "v68", "v69", "v71", "v73", "v75")
# Bytes of tightly coupled memory by version; others set no limit.
_VTCM: Final = {"v65": 1 << 18, "v66": 1 << 18, "v68": 1 << 22, "v69": 1 << 23, "v73": 1 << 23,
                "v75": 1 << 23}  # fmt: skip


def hexagon(cpu_ver: str = "v68", **kwargs: Any) -> Target:
    """A Qualcomm Hexagon DSP.

    Options: `hvx` (bytes of a vector, 0 for none), `llvm_options` (a text, or several),
    `use_qfloat` and `use_ieee_fp` (how vectors of floats are computed), `num_cores`,
    `vtcm_capacity` (bytes; 0 sets no limit; what the version has, unless it is given).
    """
    version = cpu_ver[max(cpu_ver.find("v"), 0) :].lower()
    if version not in _HEXAGONS:
        raise ValueError(
            f"{cpu_ver} is not a valid Hexagon version\nvalid versions include {list(_HEXAGONS)}"
        )
    llvm_options = kwargs.pop("llvm_options", None) or []
    listed = llvm_options.split() if isinstance(llvm_options, str) else list(llvm_options)
    number = int(version[1:3])
    if number == 68:
        listed.append("-force-hvx-float")
    hvx = int(kwargs.pop("hvx", 128))
    floats = {
        "hvx-qfloat": bool(kwargs.pop("use_qfloat", number >= 68)),
        "hvx-ieee-fp": bool(kwargs.pop("use_ieee_fp", False)),
    }
    config: dict[str, Any] = {
        "kind": "hexagon",
        "mtriple": "hexagon",
        "mcpu": f"hexagon{version}",
        "mattr": [*_hvx_features(version, hvx), *_float_features(floats, number, hvx)],
        "num-cores": int(kwargs.pop("num_cores", 4)),
        "vtcm-capacity": int(kwargs.pop("vtcm_capacity", _VTCM.get(version, 0))),
    }
    if listed:
        config["llvm-options"] = listed
    if kwargs:
        raise TypeError(f"hexagon: unknown option {next(iter(kwargs))!r}")
    return Target(config)


def _hvx_features(version: str, hvx: int) -> list[str]:
    if hvx not in (0, 64, 128):
        raise ValueError(f"hexagon: hvx={hvx}; legal: 128, 64, or 0 for no vector unit")
    return [f"+hvx{version}", f"+hvx-length{hvx}b"] if hvx else ["-hvx"]


def _float_features(floats: dict[str, bool], number: int, hvx: int) -> list[str]:
    """Vectors of floats came with version 68."""
    if number < 68 or not hvx:
        return []
    return [f"{'+' if on else '-'}{name}" for name, on in floats.items()]


def stm32(series: str = "unknown", options: Any = None) -> Target:
    """An STM32 microcontroller by its series."""
    cores = {"stm32H7xx": "cortex-m7 -march=armv7e-m", "stm32F7xx": "cortex-m7",
             "stm32F4xx": "cortex-m4", "stm32L5xx": "cortex-m33",
             "stm32U5xx": "cortex-m33"}  # fmt: skip
    if series not in cores:
        raise ValueError(
            f"Series {series} is not supported by tvm.target.stm32; legal: {', '.join(cores)}"
        )
    words = ["c", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-mcpu={cores[series]}"]
    return _join(words, options)
