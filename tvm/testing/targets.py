"""Which targets tests run on: those of this machine, or of `TVM_TEST_TARGETS` ("llvm;cuda")."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Final

import pytest

from tvm.error import TVMError, message
from tvm.runtime import Device, device, enabled
from tvm.runtime.device_api.kinds import is_cpu
from tvm.target import Target

DEFAULT_TEST_TARGETS: Final = ("llvm", "cuda", "vulkan -from_device=0", "opencl", "metal", "rocm")
EXCLUDED: Final = "tvm_excluded_targets"
FAILING: Final = "tvm_known_failing_targets"


def kind_of(target: str | Target) -> str:
    """The kind of a target, without making it: its options may ask for a device."""
    if isinstance(target, Target):
        return str(target.kind.name)
    return "composite" if target.startswith("{") else target.split()[0]


def _usable(target: str) -> bool:
    kind = kind_of(target)
    return enabled(kind) and (kind == "c" or bool(device(kind, 0).exist))


def _named() -> list[str]:
    named = [t.strip() for t in os.environ.get("TVM_TEST_TARGETS", "").split(";") if t.strip()]
    return named or list(DEFAULT_TEST_TARGETS)


def device_enabled(target: str) -> bool:
    """Whether tests on the target are asked for, and can run here."""
    if not isinstance(target, str):
        raise TypeError(
            message("ask for a device", found=type(target).__name__, legal='a string, as "llvm"')
        )
    return kind_of(target) in [kind_of(t) for t, _ in enabled_targets()]


def enabled_targets() -> list[tuple[str, Device]]:
    """The targets that tests run on, with their first devices."""
    usable = [t for t in _named() if _usable(t)]
    if not os.environ.get("TVM_TEST_TARGETS"):  # the CPU once, not by drivers of GPUs' kinds too
        usable = [t for t in usable if not is_cpu(kind_of(t))]
    if not usable:
        if not os.environ.get("TVM_TEST_TARGETS") or "llvm" in _named():
            usable = ["llvm"]
        else:
            raise TVMError(
                message(
                    "run tests on the targets of TVM_TEST_TARGETS",
                    found=f"none of {', '.join(_named())} can run here",
                    legal="names of targets, divided by ';'",
                )
            )
    return [(t, device(kind_of(t), 0)) for t in usable]


def target_param(target: Any) -> Any:
    """The target as a value of `parametrize`: its test is left out where it cannot run."""
    reason = f"{target} is not among the enabled targets"
    return pytest.param(
        target, marks=[pytest.mark.skipif(not device_enabled(kind_of(target)), reason=reason)]
    )


def parametrize_targets(*args: Any) -> Callable[..., Any]:
    """Run a test once for each of the targets; it takes `target`, and `dev` if it likes.

        @tvm.testing.parametrize_targets("llvm", "cuda")
        def test_it(target, dev): ...
    """
    if len(args) == 1 and callable(args[0]) and not isinstance(args[0], Target):
        usable = [t for t, _ in enabled_targets()]
        test: Callable[..., Any] = parametrize_targets(*usable)(args[0])
        return test
    return pytest.mark.parametrize("target", [target_param(t) for t in args], scope="session")


def exclude_targets(*args: str) -> pytest.MarkDecorator:
    """Run a test on all enabled targets but these."""
    return getattr(pytest.mark, EXCLUDED)(*args)  # type: ignore[no-any-return]


def known_failing_targets(*args: str) -> pytest.MarkDecorator:
    """Expect a test to fail on these targets."""
    return getattr(pytest.mark, FAILING)(*args)  # type: ignore[no-any-return]
