"""Figures of CPUs by LLVM's names for them, and the least of each architecture.

Sources: Intel 64 and IA-32 Optimization Reference Manual; AMD Software Optimization Guides for
families 17h to 1Ah; Arm Software Optimization Guides; Fujitsu's A64FX Microarchitecture Manual;
Apple's and Qualcomm's public documents.
"""

from __future__ import annotations

from typing import Final

from .cpu_model import CpuModel

KB: Final = 1024
MB: Final = 1024 * KB
_AVX2: Final = frozenset(("sse4.2", "avx", "avx2", "fma", "f16c"))
_AVX_VNNI: Final = _AVX2 | {"avxvnni"}
_AVX512: Final = _AVX2 | {"avx512f", "avx512vl", "avx512bw", "avx512dq"}
_VNNI: Final = _AVX512 | {"avx512vnni"}
_BF16: Final = _VNNI | {"avx512bf16"}
AMX: Final = frozenset(("amx-tile", "amx-int8", "amx-bf16"))
SERVER: Final = _BF16 | {"avx512fp16"} | AMX
_NEON: Final = frozenset(("neon",))
_DOT: Final = _NEON | {"dotprod", "fullfp16"}
_SVE: Final = _DOT | {"sve", "i8mm", "bf16"}
_I8MM: Final = _DOT | {"i8mm", "bf16"}
_SVE2: Final = _SVE | {"sve2"}
_AVX: Final = frozenset(("sse4.2", "avx"))


def _x86(
    name: str, bits: int, ports: int, l1: int, l2: int, l3: int, features: frozenset[str]
) -> CpuModel:
    registers = 32 if bits == 512 else 16
    return CpuModel(name, "x86_64", bits, registers, ports, l1, l2, l3, 1, features)


def _arm(
    name: str, ports: int, l1: int, l2: int, l3: int, features: frozenset[str] = _NEON
) -> CpuModel:
    return CpuModel(name, "aarch64", 128, 32, ports, l1, l2, l3, 1, features)


TABLE: Final[dict[str, CpuModel]] = {
    model.name: model
    for model in (
        _x86("x86-64", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse2",))),
        _x86("x86-64-v2", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse4.2",))),
        _x86("x86-64-v3", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("x86-64-v4", 512, 1, 32 * KB, 1 * MB, 1 * MB, _AVX512),
        _x86("core-avx2", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("nehalem", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse4.2",))),
        _x86("westmere", 128, 1, 32 * KB, 256 * KB, 2 * MB, frozenset(("sse4.2",))),
        _x86("sandybridge", 256, 1, 32 * KB, 256 * KB, 2 * MB, _AVX),
        _x86("ivybridge", 256, 1, 32 * KB, 256 * KB, 2 * MB, _AVX | {"f16c"}),
        _x86("haswell", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("broadwell", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("skylake", 256, 2, 32 * KB, 256 * KB, 2 * MB, _AVX2),
        _x86("alderlake", 256, 2, 48 * KB, 1280 * KB, 3 * MB, _AVX_VNNI),
        _x86("raptorlake", 256, 2, 48 * KB, 2 * MB, 3 * MB, _AVX_VNNI),
        _x86("meteorlake", 256, 2, 48 * KB, 2 * MB, 3 * MB, _AVX_VNNI),
        _x86("arrowlake", 256, 2, 48 * KB, 3 * MB, 3 * MB, _AVX_VNNI),
        _x86("lunarlake", 256, 2, 48 * KB, 2560 * KB, 3 * MB, _AVX_VNNI),
        _x86("gracemont", 256, 1, 32 * KB, 2 * MB, 3 * MB, _AVX_VNNI),
        _x86("sierraforest", 256, 1, 32 * KB, 1 * MB, 3 * MB, _AVX_VNNI),
        _x86("tigerlake", 512, 1, 48 * KB, 1280 * KB, 3 * MB, _VNNI),
        _x86("rocketlake", 512, 1, 48 * KB, 512 * KB, 2 * MB, _VNNI),
        _x86("skylake-avx512", 512, 2, 32 * KB, 1 * MB, 1408 * KB, _AVX512),
        _x86("cascadelake", 512, 2, 32 * KB, 1 * MB, 1408 * KB, _VNNI),
        _x86("cooperlake", 512, 2, 32 * KB, 1 * MB, 1408 * KB, _BF16),
        _x86("icelake-client", 512, 1, 48 * KB, 512 * KB, 2 * MB, _VNNI),
        _x86("icelake-server", 512, 2, 48 * KB, 1280 * KB, 1536 * KB, _VNNI),
        _x86("sapphirerapids", 512, 2, 48 * KB, 2 * MB, 1920 * KB, SERVER),
        _x86("emeraldrapids", 512, 2, 48 * KB, 2 * MB, 5 * MB, SERVER),
        _x86("graniterapids", 512, 2, 48 * KB, 2 * MB, 4 * MB, SERVER),
        _x86("znver1", 128, 2, 32 * KB, 512 * KB, 2 * MB, _AVX2),
        _x86("znver2", 256, 2, 32 * KB, 512 * KB, 4 * MB, _AVX2),
        _x86("znver3", 256, 2, 32 * KB, 512 * KB, 4 * MB, _AVX2),
        _x86("znver4", 512, 1, 32 * KB, 1 * MB, 4 * MB, _BF16),
        _x86("znver5", 512, 2, 48 * KB, 1 * MB, 4 * MB, _BF16),
        _arm("cortex-a35", 1, 32 * KB, 512 * KB, 512 * KB),
        _arm("cortex-a53", 1, 32 * KB, 512 * KB, 512 * KB),
        _arm("cortex-a55", 1, 32 * KB, 256 * KB, 512 * KB, _DOT),
        _arm("cortex-a57", 2, 32 * KB, 1 * MB, 1 * MB),
        _arm("cortex-a72", 2, 32 * KB, 1 * MB, 1 * MB),
        _arm("cortex-a73", 2, 32 * KB, 1 * MB, 1 * MB),
        _arm("cortex-a75", 2, 64 * KB, 256 * KB, 1 * MB, _DOT),
        _arm("cortex-a76", 2, 64 * KB, 512 * KB, 2 * MB, _DOT),
        _arm("cortex-a77", 2, 64 * KB, 512 * KB, 2 * MB, _DOT),
        _arm("cortex-a78", 2, 64 * KB, 512 * KB, 2 * MB, _DOT),
        _arm("cortex-a78c", 2, 64 * KB, 512 * KB, 2 * MB, _DOT),
        _arm("cortex-a510", 1, 32 * KB, 256 * KB, 1 * MB, _SVE2),
        _arm("cortex-a520", 1, 32 * KB, 256 * KB, 1 * MB, _SVE2),
        _arm("cortex-a710", 2, 64 * KB, 512 * KB, 2 * MB, _SVE2),
        _arm("cortex-a715", 2, 64 * KB, 512 * KB, 2 * MB, _SVE2),
        _arm("cortex-a720", 2, 64 * KB, 512 * KB, 2 * MB, _SVE2),
        _arm("cortex-a725", 2, 64 * KB, 512 * KB, 2 * MB, _SVE2),
        _arm("cortex-x1", 4, 64 * KB, 1 * MB, 2 * MB, _DOT),
        _arm("cortex-x2", 4, 64 * KB, 1 * MB, 2 * MB, _SVE2),
        _arm("cortex-x3", 4, 64 * KB, 1 * MB, 2 * MB, _SVE2),
        _arm("cortex-x4", 4, 64 * KB, 2 * MB, 2 * MB, _SVE2),
        _arm("cortex-x925", 6, 64 * KB, 2 * MB, 2 * MB, _SVE2),
        _arm("neoverse-n1", 2, 64 * KB, 1 * MB, 1 * MB, _DOT),
        _arm("neoverse-n2", 2, 64 * KB, 1 * MB, 1 * MB, _SVE2),
        _arm("neoverse-n3", 2, 64 * KB, 2 * MB, 1 * MB, _SVE2),
        _arm("neoverse-v1", 4, 64 * KB, 1 * MB, 1 * MB, _SVE),
        _arm("neoverse-v2", 4, 64 * KB, 2 * MB, 1 * MB, _SVE2),
        _arm("neoverse-v3", 4, 64 * KB, 2 * MB, 1 * MB, _SVE2),
        _arm("neoverse-512tvb", 4, 64 * KB, 1 * MB, 1 * MB, _SVE),
        _arm("grace", 4, 64 * KB, 1 * MB, 1 * MB, _SVE2),
        _arm("cobalt-100", 2, 64 * KB, 1 * MB, 1 * MB, _SVE2),
        _arm("carmel", 2, 64 * KB, 1 * MB, 512 * KB, _NEON | {"fullfp16"}),
        _arm("thunderx2t99", 2, 32 * KB, 256 * KB, 1 * MB),
        _arm("a64fx", 2, 64 * KB, 512 * KB, 512 * KB, _NEON | {"fullfp16", "sve"}),
        _arm("ampere1", 2, 64 * KB, 2 * MB, 1 * MB, _I8MM),
        _arm("ampere1a", 2, 64 * KB, 2 * MB, 1 * MB, _I8MM),
        _arm("ampere1b", 2, 64 * KB, 2 * MB, 1 * MB, _I8MM),
        _arm("oryon-1", 4, 96 * KB, 3 * MB, 3 * MB, _I8MM),
        _arm("apple-m1", 4, 128 * KB, 3 * MB, 2 * MB, _DOT),
        _arm("apple-m2", 4, 128 * KB, 4 * MB, 2 * MB, _I8MM),
        _arm("apple-m3", 4, 128 * KB, 4 * MB, 2 * MB, _I8MM),
        _arm("apple-m4", 4, 128 * KB, 4 * MB, 2 * MB, _I8MM),
        _arm("apple-latest", 4, 128 * KB, 4 * MB, 2 * MB, _I8MM),
    )
}
BASELINE: Final[dict[str, CpuModel]] = {
    "x86_64": TABLE["x86-64"],
    "aarch64": _arm("generic", 1, 32 * KB, 512 * KB, 512 * KB),
    "riscv64": CpuModel("generic", "riscv64", 64, 32, 1, 32 * KB, 512 * KB, 512 * KB, 1),
    "riscv32": CpuModel("generic", "riscv32", 32, 32, 1, 32 * KB, 256 * KB, 256 * KB, 1),
    "wasm32": CpuModel("generic", "wasm32", 128, 16, 1, 32 * KB, 256 * KB, 1 * MB, 1),
}
