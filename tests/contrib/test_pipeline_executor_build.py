"""Connections of modules in a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tvm
from tests.contrib.test_pipeline_executor import connected, stages
from tvm.contrib import pipeline_executor_build
from tvm.contrib.pipeline_executor_build import PipelineConfig


def test_the_configuration() -> None:
    mods = stages()
    made = connected(mods).get_config()
    assert list(made) == ["module_connection", "input_connection", "param_connection"]
    first, second, third = (made["module_connection"][mod] for mod in mods)
    assert first == {
        "pipeline": {
            "mod_idx": 0, "cpu_affinity": "0",
            "output": [
                {"output_idx": 0, "dependencies": [{"mod_idx": 1, "input_name": "a"}]},
                {"output_idx": 1, "dependencies": [{"global_output_index": 0}]},
            ],
        },
        "target_host": None, "mod_name": "default", "build": None, "params": None,
        "target": "llvm", "fcompile": None, "dev": tvm.cpu(0), "export_cc": None,
    }  # fmt: skip
    assert [second["pipeline"]["mod_idx"], third["pipeline"]["mod_idx"]] == [1, 2]
    assert made["input_connection"][1] == {
        "global_interface_name": "shift", "mod_idx": 1, "module_interface_name": "b",
    }
    assert made["param_connection"] == [{"global_param_name": "weights", "mod_idx": 0}]


def test_the_text() -> None:
    assert str(connected(stages())) == """Params
  |weights: mod0:param

Inputs
  |image: mod0:x
  |shift: mod1:b

output
  |output(0) : mod0.output(1)
  |output(1) : mod2.output(0)

connections
  |mod0.output(0)-> mod1.a
  |mod1.output(0)-> mod2.c
"""


def _cycle(c: PipelineConfig, m: list[Any]) -> None:
    c[m[1]]["output"][0].connect(c[m[2]]["input"]["c"])
    c[m[2]]["output"][0].connect(c[m[1]]["input"]["a"])


WRONG: list[Callable[[PipelineConfig, list[Any]], Any]] = [
    lambda c, m: c[m[0]]["output"][9],
    lambda c, m: c[m[0]]["input"]["y"],
    lambda c, m: c[m[0]]["inputs"],
    lambda c, m: c["inputs"],
    lambda c, m: c[m[0]]["output"][0].connect(c[m[0]]["input"]["x"]),
    lambda c, m: c[m[0]]["input"]["x"].connect(c[m[0]]["input"]["x"]),
    lambda c, m: c[m[0]]["input"]["x"].connect(c[m[1]]["input"]["a"]),
    lambda c, m: c[m[0]]["output"][0].connect(c["input"]["d"]),
    lambda c, m: c["input"]["d"].connect(c[m[0]]["output"][0]),
    lambda c, m: c["input"]["d"].connect(c["output"]["0"]),
    lambda c, m: c["output"]["0"].connect(c[m[0]]["output"][0]),
    lambda c, m: c["param_group"]["p"].connect(c[m[0]]["input"]["x"]),
    lambda c, m: c["input"]["d"].connect("x"),
    _cycle,
]


@pytest.mark.parametrize("wrong", WRONG)
def test_refused(wrong: Callable[[PipelineConfig, list[Any]], Any]) -> None:
    with pytest.raises(RuntimeError, match="legal"):
        wrong(PipelineConfig(), stages())


def test_an_input_has_one_source() -> None:
    mods = stages()
    config = connected(mods)
    with pytest.raises(RuntimeError, match="comes from mod0 output 0 already"):
        config[mods[2]]["output"][0].connect(config[mods[1]]["input"]["a"])
    again = PipelineConfig()
    again["input"]["image"].connect(again[mods[0]]["input"]["x"])
    with pytest.raises(RuntimeError, match="goes to mod0 input x already"):
        again["input"]["image"].connect(again[mods[2]]["input"]["c"])


def test_where_to_export(tmp_path: Path) -> None:
    factory = pipeline_executor_build.PipelineExecutorFactoryModule({}, {})
    with pytest.raises(RuntimeError, match="not set"):
        factory.export_library("")
    with pytest.raises(RuntimeError, match="does not exist"):
        factory.export_library(str(tmp_path / "none"))
