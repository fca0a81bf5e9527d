"""Modules as stages of a pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.contrib import pipeline_executor, pipeline_executor_build
from tvm.contrib.pipeline_executor_build import PipelineConfig
from tvm.ir.module import IRModule


def stages() -> list[IRModule]:
    """x -> (x + 1, x * 2);  (a, b) -> a - b;  a -> exp(a)."""
    x, a, b, c = (relay.var(n, shape=(3, 2)) for n in ("x", "a", "b", "c"))
    both = relay.Tuple([x + relay.const(1.0), x * relay.const(2.0)])
    bodies = [([x], both), ([a, b], a - b), ([c], relay.exp(c))]
    return [IRModule.from_expr(relay.Function(params, body)) for params, body in bodies]


def connected(mods: list[IRModule]) -> PipelineConfig:
    first, second, third = mods
    config = PipelineConfig()
    config["param_group"]["weights"].connect(config[first]["param"])
    config["input"]["image"].connect(config[first]["input"]["x"])
    config["input"]["shift"].connect(config[second]["input"]["b"])
    config[third]["output"][0].connect(config["output"]["1"])
    config[second]["output"][0].connect(config[third]["input"]["c"])
    config[first]["output"][0].connect(config[second]["input"]["a"])
    config[first]["output"][1].connect(config["output"]["0"])
    for mod in mods:
        config[mod].target, config[mod].dev = "llvm", tvm.cpu(0)
    config[first].cpu_affinity = "0"
    return config


def expected(x: Any, b: Any) -> list[Any]:
    return [x * 2, np.exp(x + 1 - b)]


def checked(pipeline: Any) -> None:
    assert (pipeline.num_inputs, pipeline.num_outputs) == (2, 2)
    images = [np.full((3, 2), k, "float32") for k in range(5)]
    shift = np.linspace(0, 1, 6, dtype="float32").reshape(3, 2)
    for image in images:
        pipeline.set_input("image", tvm.runtime.tensor(image))
        pipeline.set_input("shift", shift)
        np.testing.assert_array_equal(pipeline.get_input("image").numpy(), image)
        pipeline.run()
    for image in images:
        for have, want in zip(pipeline.get_output(), expected(image, shift)):
            np.testing.assert_allclose(have.numpy(), want, rtol=1e-5)
    assert pipeline.num_executing_pipeline == 5
    assert pipeline.get_output() == []
    pipeline.stop()


def test_runs_in_order(tmp_path: Path) -> None:
    factory = pipeline_executor_build.build(connected(stages()))
    checked(pipeline_executor.PipelineModule(factory))
    file = factory.export_library(str(tmp_path))
    loaded = pipeline_executor.PipelineModule.load_library(file)
    assert list(loaded.get_input_pipeline_map("shift")) == ["1", "b"]
    assert loaded.get_params_group_pipeline_map("weights") == 0
    checked(loaded)


def test_what_a_pipeline_refuses() -> None:
    pipeline = pipeline_executor.PipelineModule(pipeline_executor_build.build(connected(stages())))
    with pytest.raises(tvm.TVMError, match="set_params"):
        pipeline.set_params("weights", None)  # type: ignore[arg-type]
    with pytest.raises(tvm.TVMError, match="no such group of parameters"):
        pipeline.set_params("bias", {})
    with pytest.raises(tvm.TVMError, match=r"no such input(.|\n)*legal: image, shift"):
        pipeline.set_input("picture", 1)
    pipeline.set_input("image", np.zeros((3, 2), "float32"))
    with pytest.raises(tvm.TVMError, match="not set: shift"):
        pipeline.run()
    with pytest.raises(RuntimeError, match="PipelineModule of a dict"):
        pipeline_executor.PipelineModule({})  # type: ignore[arg-type]


def test_the_error_of_a_stage() -> None:
    pipeline = pipeline_executor.PipelineModule(pipeline_executor_build.build(connected(stages())))
    pipeline.set_input("image", np.zeros((3, 2), "float32"))
    pipeline.set_input("shift", np.zeros((3, 2), "float32"))
    pipeline.run()
    assert len(pipeline.get_output()) == 2
    pipeline.set_input("shift", np.zeros((7, 2), "float32"))
    pipeline.run()
    with pytest.raises(tvm.TVMError, match=r"found: \(7, 2\), float32"):
        pipeline.get_output()
    pipeline.stop()
