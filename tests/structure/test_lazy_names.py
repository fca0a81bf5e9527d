"""A package's lazy names resolve, and mean the same whatever was imported before.

A function that has the name of its module (`tvm.tir.build`) would be hidden by the module as soon
as somebody imports that.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.structure.sources import modules

pytestmark = pytest.mark.pure

PROGRAM = """
import importlib, json, sys, types

names = json.loads(sys.argv[1])
packages = {}
for name in names:
    module = importlib.import_module(name)
    if "_LAZY_VALUES" in vars(module) and "_HOMES" in vars(module):
        packages[name] = module
wrong = []
for name, package in packages.items():
    for public, home in package._HOMES.items():
        try:
            value = getattr(package, public)
        except (ImportError, AttributeError) as error:
            wrong.append(f"{name}.{public}: {error}")
            continue
        if ":" in home and isinstance(value, types.ModuleType):
            wrong.append(f"{name}.{public} is a module, not {home}")
print(json.dumps(wrong))
"""


def _wrong(names: list[str]) -> list[str]:
    """The lazy names of the given modules that do not mean what they should."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(names)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_lazy_names_after_every_module_was_imported() -> None:
    everything = sorted(m for m in modules() if m != "tvm.__main__")
    assert _wrong(everything) == []


@pytest.mark.parametrize("package", ["tvm.tir.transform", "tvm.tir.analysis"])
def test_star_imports_bring_the_lazy_names(package: str) -> None:
    name = "Simplify" if package.endswith("transform") else "verify_ssa"
    program = f"from {package} import *; {name}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
