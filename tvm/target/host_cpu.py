"""The CPU of this machine, as the operating system tells it."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from .cpu_model import CpuModel, arch_of_triple, with_features
from .cpu_table import AMX, BASELINE, MB, SERVER, TABLE

# A virtual machine is told the last cache of a processor with many more cores than it has of it.
_LARGEST_SHARE: Final = 16 * MB

# How kernels spell features that LLVM spells otherwise.
_KERNEL_NAMES: Final = {
    "avx512_vnni": "avx512vnni", "avx512_bf16": "avx512bf16", "avx512_fp16": "avx512fp16",
    "amx_tile": "amx-tile", "amx_int8": "amx-int8", "amx_bf16": "amx-bf16", "sse4_2": "sse4.2",
    "avx_vnni": "avxvnni",
    "asimd": "neon", "asimddp": "dotprod", "asimdhp": "fullfp16",
    "FEAT_DotProd": "dotprod", "FEAT_FP16": "fullfp16", "FEAT_I8MM": "i8mm", "FEAT_BF16": "bf16",
}  # fmt: skip
_OF_ARM: Final = frozenset(("neon", "dotprod", "fullfp16", "i8mm", "bf16", "sve", "sve2"))

# Arm's register MIDR_EL1 as Linux shows it: (implementer, part) of cores by LLVM's names.
_PARTS: Final = {
    (0x41, 0xD04): "cortex-a35", (0x41, 0xD03): "cortex-a53", (0x41, 0xD05): "cortex-a55",
    (0x41, 0xD07): "cortex-a57", (0x41, 0xD08): "cortex-a72", (0x41, 0xD09): "cortex-a73",
    (0x41, 0xD0A): "cortex-a75", (0x41, 0xD0B): "cortex-a76", (0x41, 0xD0D): "cortex-a77",
    (0x41, 0xD41): "cortex-a78", (0x41, 0xD4B): "cortex-a78c", (0x41, 0xD46): "cortex-a510",
    (0x41, 0xD80): "cortex-a520", (0x41, 0xD47): "cortex-a710", (0x41, 0xD4D): "cortex-a715",
    (0x41, 0xD81): "cortex-a720", (0x41, 0xD87): "cortex-a725", (0x41, 0xD44): "cortex-x1",
    (0x41, 0xD48): "cortex-x2", (0x41, 0xD4E): "cortex-x3", (0x41, 0xD82): "cortex-x4",
    (0x41, 0xD85): "cortex-x925", (0x41, 0xD0C): "neoverse-n1", (0x41, 0xD49): "neoverse-n2",
    (0x41, 0xD8E): "neoverse-n3", (0x41, 0xD40): "neoverse-v1", (0x41, 0xD4F): "neoverse-v2",
    (0x41, 0xD84): "neoverse-v3", (0x43, 0x0AF): "thunderx2t99", (0x46, 0x001): "a64fx",
    (0x4E, 0x004): "carmel", (0x51, 0x001): "oryon-1", (0x6D, 0xD49): "cobalt-100",
    (0xC0, 0xAC3): "ampere1", (0xC0, 0xAC4): "ampere1a", (0xC0, 0xAC5): "ampere1b",
}  # fmt: skip


def host_arch() -> str:
    """The architecture this process runs on."""
    return arch_of_triple(platform.machine())


def host_triple() -> str:
    """The LLVM triple of this machine, made without loading LLVM."""
    arch = {"aarch64": "arm64"} if platform.system() == "Darwin" else {}
    machine = arch.get(host_arch(), host_arch())
    system = platform.system()
    if system == "Darwin":
        return f"{machine}-apple-darwin{platform.release()}"
    if system == "Windows":
        return f"{machine}-pc-windows-msvc"
    return f"{machine}-unknown-linux-gnu"


def available_cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def host_cpu() -> CpuModel:
    """The CPU of this machine, read from the operating system once a process."""
    arch, text = host_arch(), _read("/proc/cpuinfo")
    flags = _flags(text) if text else _mac_flags()
    if arch == "x86_64":
        model = _x86_cpu(text, flags)
    elif arch == "aarch64":
        model = _arm_cpu(text, flags, on_mac=platform.system() == "Darwin")
    else:
        least = BASELINE.get(arch, BASELINE["x86_64"])
        model = with_features(least, _riscv_extensions(text) if arch.startswith("riscv") else [])
    return replace(with_caches(model), name="host", cores=available_cores())


def _x86_cpu(text: str, flags: set[str]) -> CpuModel:
    wanted = ("avx", "amx") if _gives_tiles() else ("avx",)
    features = frozenset(f for f in flags if f.startswith(wanted) or f in SERVER - AMX)
    bits = 512 if "avx512f" in features else 256 if "avx2" in features else 128
    amd = "AuthenticAMD" in text
    zen5 = amd and re.search(r"cpu family\s*:\s*26\b", text) is not None
    # Intel's servers have two 512-bit FMA ports, told by the server-only features; Zen 4 joins its
    # two 256-bit ports to one of 512.
    two_wide = zen5 or (not amd and bool({"avx512bf16", "clwb"} & set(flags)))
    return replace(
        BASELINE["x86_64"],
        vector_bits=bits,
        vector_registers=32 if bits == 512 else 16,
        fma_ports=(2 if two_wide else 1) if bits == 512 else 2,
        features=features,
    )


def _arm_cpu(text: str, flags: set[str], *, on_mac: bool) -> CpuModel:
    """Figures of the largest core, and the features that the system says all cores have."""
    shown = [
        re.findall(rf"^CPU {name}\s*:\s*(0x[0-9a-fA-F]+)$", text, re.MULTILINE)
        for name in ("implementer", "part")
    ]
    pairs = {(int(made, 16), int(part, 16)) for made, part in zip(*shown)}
    found = [TABLE[_PARTS[pair]] for pair in sorted(pairs) if pair in _PARTS]
    if on_mac:
        found = [TABLE["apple-latest"]]
    model = max(found, key=lambda cpu: cpu.fma_ports, default=BASELINE["aarch64"])
    return replace(model, features=frozenset({"neon"} | (flags & _OF_ARM)))


def _riscv_extensions(text: str) -> list[str]:
    """Those of the first core: `isa : rv64imafdcv_zicsr_zvl256b`."""
    found = re.search(r"^isa\s*:\s*rv\d+(\S+)", text, re.MULTILINE)
    single, *longer = found[1].split("_") if found else [""]
    return [f"+{name}" for name in (*single, *longer)]


def _gives_tiles() -> bool:
    """Whether the system lets this process use tile registers: some sandboxes do not.

    Linux gives them when it is asked: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA), see its
    Documentation/arch/x86/xstate.rst.
    """
    if platform.system() != "Linux" or host_arch() != "x86_64":
        return False
    arch_prctl, request, tile_data = 158, 0x1023, 18
    return int(ctypes.CDLL(None).syscall(arch_prctl, request, tile_data)) == 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def _flags(cpuinfo: str) -> set[str]:
    """What every core has."""
    found = re.findall(r"^(?:flags|Features)\s*:\s*(.*)$", cpuinfo, re.MULTILINE)
    words = set.intersection(*(set(line.split()) for line in found)) if found else set()
    return {_KERNEL_NAMES.get(word, word) for word in words}


def _mac_flags() -> set[str]:
    if platform.system() != "Darwin":
        return set()
    import subprocess

    keys = ["machdep.cpu.features", "machdep.cpu.leaf7_features", "hw.optional.arm"]
    shown = subprocess.run(["sysctl", *keys], capture_output=True, text=True, check=False).stdout
    arm = re.findall(r"^hw\.optional\.arm\.(FEAT_\w+): 1$", shown, re.MULTILINE)
    intel = re.findall(r"^machdep\.cpu\.\w+: (.*)$", shown, re.MULTILINE)
    words = {word.lower().replace("avx1.0", "avx") for line in intel for word in line.split()}
    return words | {_KERNEL_NAMES.get(name, name) for name in arm}


def with_caches(model: CpuModel, root: str = "/sys/devices/system/cpu/cpu0/cache") -> CpuModel:
    """The model with cache sizes as Linux tells them; unchanged where it does not."""
    sizes: dict[int, int] = {}
    for index in range(5):
        folder = f"{root}/index{index}"
        parts = ("level", "type", "size", "shared_cpu_list")
        level, kind, size, sharing = (_read(f"{folder}/{part}").strip() for part in parts)
        if kind in ("Data", "Unified") and size[:-1].isdigit():
            whole = int(size[:-1]) * (MB if size.endswith("M") else 1024)
            sizes[int(level)] = whole // _count(sharing) if level == "3" else whole
    return replace(
        model,
        l1d_bytes=sizes.get(1, model.l1d_bytes),
        l2_bytes=sizes.get(2, model.l2_bytes),
        l3_bytes=min(sizes.get(3, model.l3_bytes), _LARGEST_SHARE),
    )


def _count(cpus: str) -> int:
    """How many CPUs a list such as `0-3,8` names; 1 where it names none."""
    ranges = [part.split("-") for part in cpus.split(",") if part.strip("0123456789-") == ""]
    return max(1, sum(int(ends[-1]) - int(ends[0]) + 1 for ends in ranges if ends[0]))
