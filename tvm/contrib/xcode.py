"""Apple's tools, if they are installed: libraries for macOS and iOS, Metal's compiler."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tvm.error import message

from . import utils
from .tools import run_tool

_MIN_VERSION = {
    "macosx": "-mmacosx-version-min", "iphoneos": "-miphoneos-version-min",
    "iphonesimulator": "-mios-simulator-version-min",
}  # fmt: skip


def xcrun(cmd: Sequence[str]) -> str:
    """What a tool of Xcode prints."""
    return run_tool(["xcrun", *cmd], "Xcode")


def codesign(lib: str) -> None:
    """Sign a library with the identity in TVM_IOS_CODESIGN."""
    identity = os.environ.get("TVM_IOS_CODESIGN")
    if not identity:
        raise RuntimeError(
            message(
                f"sign {lib}", found="no environment variable TVM_IOS_CODESIGN",
                legal="TVM_IOS_CODESIGN with the name of an identity",
            )
        )  # fmt: skip
    run_tool(["codesign", "--force", "--sign", identity, lib], "Xcode")


def _min_version(sdk: str, version: str | None) -> list[str]:
    if sdk not in _MIN_VERSION:
        raise ValueError(
            message("a kit of Xcode", found=repr(sdk), legal=", ".join(_MIN_VERSION))
        )
    return [] if version is None else [f"{_MIN_VERSION[sdk]}={version}"]


def create_dylib(
    output: str,
    objects: str | Sequence[str],
    arch: str,
    sdk: str = "macosx",
    min_os_version: str | None = None,
) -> None:
    """Link object files to a dynamic library for a processor, such as "arm64"."""
    least = _min_version(sdk, min_os_version)
    compiler = xcrun(["-sdk", sdk, "-find", "clang"])
    root = xcrun(["-sdk", sdk, "--show-sdk-path"])
    parts = [objects] if isinstance(objects, str) else objects
    where = ["-arch", arch, "-isysroot", root, *least]
    run_tool([compiler, "-dynamiclib", *where, "-o", output, *parts], "Xcode")


create_dylib.output_format = "dylib"  # type: ignore[attr-defined]


def compile_metal(
    code: str, path_target: str | None = None, sdk: str = "macosx",
    min_os_version: str | None = None,
) -> bytearray:  # fmt: skip
    """Metal text compiled to a library of Metal; `path_target` keeps the file too."""
    least = _min_version(sdk, min_os_version)
    temp = utils.tempdir()
    source, middle = Path(temp.relpath("code.metal")), temp.relpath("code.air")
    made = path_target or temp.relpath("code.metallib")
    source.write_text(code, encoding="utf-8")
    xcrun(["-sdk", sdk, "metal", "-O3", *least, "-c", str(source), "-o", middle])
    xcrun(["-sdk", sdk, "metallib", middle, "-o", made])
    return bytearray(Path(made).read_bytes())
