"""The attributes of a device, and how the host answers for itself."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any


class DeviceAttr(IntEnum):
    """Numbers under which a device API is asked for an attribute."""

    EXIST = 0
    MAX_THREADS_PER_BLOCK = 1
    WARP_SIZE = 2
    MAX_SHARED_MEMORY_PER_BLOCK = 3
    COMPUTE_VERSION = 4
    DEVICE_NAME = 5
    MAX_CLOCK_RATE = 6
    MULTI_PROCESSOR_COUNT = 7
    MAX_THREAD_DIMENSIONS = 8
    MAX_REGISTERS_PER_BLOCK = 9
    GCN_ARCH = 10
    API_VERSION = 11
    DRIVER_VERSION = 12
    L2_CACHE_SIZE_BYTES = 13
    TOTAL_GLOBAL_MEMORY = 14
    AVAILABLE_GLOBAL_MEMORY = 15
    IMAGE_SPATIAL_LIMIT = 16


def host_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def _cpu_name() -> str:
    for line in (_read("/proc/cpuinfo") or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _l2_bytes() -> int | None:
    size = _read("/sys/devices/system/cpu/cpu0/cache/index2/size")
    if size is None or not size.endswith("K"):
        return None
    return int(size[:-1]) * 1024


def _clock_khz() -> int | None:
    text = _read("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq")
    return int(text) if text else None


def _memory_bytes(free: bool) -> int | None:
    key = "MemAvailable:" if free else "MemTotal:"
    for line in (_read("/proc/meminfo") or "").splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


HOST_ATTRIBUTES: dict[DeviceAttr, Callable[[], Any]] = {
    DeviceAttr.EXIST: lambda: True,
    DeviceAttr.MAX_THREADS_PER_BLOCK: lambda: 1,
    DeviceAttr.WARP_SIZE: lambda: 1,
    DeviceAttr.DEVICE_NAME: _cpu_name,
    DeviceAttr.MAX_CLOCK_RATE: _clock_khz,
    DeviceAttr.MULTI_PROCESSOR_COUNT: host_cores,
    DeviceAttr.MAX_THREAD_DIMENSIONS: lambda: [1, 1, 1],
    DeviceAttr.L2_CACHE_SIZE_BYTES: _l2_bytes,
    DeviceAttr.TOTAL_GLOBAL_MEMORY: lambda: _memory_bytes(free=False),
    DeviceAttr.AVAILABLE_GLOBAL_MEMORY: lambda: _memory_bytes(free=True),
}
