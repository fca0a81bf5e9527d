"""The process that compiles one variant, called as a function here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import tvm
from tests.relax.vm.test_variants import WEIGHT, Picture, picture
from tvm import relax
from tvm.exec.compile_variant import compile_in
from tvm.ir.json_rows import save_apart
from tvm.relax.vm.variants import GRAPH, REQUEST, RESULT, TENSORS


def test_the_library_runs_at_the_sizes_asked_for(tmp_path: Path) -> None:
    mod = relax.transform.BindParams("main", {"k": WEIGHT})(Picture)
    text, tensors = save_apart(mod)
    (tmp_path / GRAPH).write_text(text)
    parts = [tensor.numpy().tobytes() for tensor in tensors]
    content = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    (tmp_path / TENSORS).write_bytes(content)
    request = {
        "function": "main", "shapes": {"x": [1, 2, 6, 5]}, "urgent": True, "target": "llvm",
        "exec_mode": "compiled", "opt_level": 2, "required_pass": [], "disabled_pass": [],
        "config": {},
    }  # fmt: skip
    (tmp_path / REQUEST).write_text(json.dumps(request))
    compile_in(tmp_path)
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(tmp_path / RESULT)), tvm.cpu())
    assert machine.signature("main").params[0].shape == (1, 2, 6, 5)
    x = picture(1, 2, 6, 5)
    wanted = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())["main"](x)
    np.testing.assert_allclose(machine["main"](x).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-5)
