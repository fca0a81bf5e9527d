"""What a command line of tvmc says: shapes, targets, options of passes and executors."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import tvm
from tvm.driver.tvmc import (
    TVMCException,
    composite_target,
    config_options,
    frontends,
    target,
    transform,
)
from tvm.driver.tvmc.arguments import TVMCSuppressedArgumentParser
from tvm.driver.tvmc.pass_config import parse_configs
from tvm.driver.tvmc.pass_list import parse_pass_list_str
from tvm.driver.tvmc.registry import generate_registry_args, reconstruct_registry_entity
from tvm.driver.tvmc.shape_parser import parse_shape_string
from tvm.driver.tvmc.tracker import tracker_host_port_from_cli
from tvm.ir.op import Op
from tvm.relay.backend.executor import Executor
from tvm.relay.expr import var
from tvm.relay.function import Function
from tvm.relay.op import nn
from tvm.relay.ty import Any as AnyDim

pytestmark = pytest.mark.pure


def test_shapes() -> None:
    for text, wanted in {
        "x:[10,20]": {"x": [10, 20]},
        "x:[10, 20]   y: [1]": {"x": [10, 20], "y": [1]},
        "x:[10],y:[1]": {"x": [10], "y": [1]},
        "gpu_0/data_0:[1,3]": {"gpu_0/data_0": [1, 3]},
        "serving.in:0:[1]": {"serving.in:0": [1]},
    }.items():
        assert parse_shape_string(text) == wanted
    first, second = parse_shape_string("x:[-1,3]")["x"]
    assert isinstance(first, AnyDim)
    assert second == 3
    for text in ("", "x", "x:[1", "x:1]", "x[1]", "[1]", ":[1]", "x:[a]", "x:[1;2]", "x:[1] y"):
        with pytest.raises(argparse.ArgumentTypeError, match="must be of the form"):
            parse_shape_string(text)


def test_trackers() -> None:
    assert tracker_host_port_from_cli("10.0.0.1:1234") == ("10.0.0.1", 1234)
    assert tracker_host_port_from_cli("10.0.0.1") == ("10.0.0.1", 9090)
    assert tracker_host_port_from_cli(None) == (None, None)
    with pytest.raises(ValueError, match="legal"):
        tracker_host_port_from_cli("host:port")


def test_options_of_passes() -> None:
    assert parse_configs(None) == {}
    given = ["tir.disable_vectorize=true", "relay.FuseOps.max_depth = 10"]
    assert parse_configs(given) == {"tir.disable_vectorize": True, "relay.FuseOps.max_depth": 10}
    for text, told in {
        "tir.disable_vectorize": "Invalid format",
        "=1": "Invalid format",
        "tir.disable_vectorize=1=2": "Invalid format",
        "a.moon=1": "is not defined in TVM",
        "tir.add_lower_pass=1": "is not supported in TVMC",
        "relay.FuseOps.max_depth=ten": "Unsupported value 'ten'",
    }.items():
        with pytest.raises(TVMCException, match=told):
            parse_configs([text])
    assert parse_pass_list_str("FoldConstant,,FuseOps") == ["FoldConstant", "", "FuseOps"]
    assert parse_pass_list_str(" FuseOps ,InferType") == [" FuseOps ", "InferType"]
    (first, second) = parse_configs(["tir.add_lower_pass=1,tvm.tir.transform.Simplify"]).popitem()
    assert first == "tir.add_lower_pass"
    assert second[0][0] == 1
    assert second[0][1].info.name == "tir.Simplify"
    with pytest.raises(TVMCException, match="moon"):
        parse_configs(["tir.add_lower_pass=1,tvm.tir.transform.moon"])
    with pytest.raises(argparse.ArgumentTypeError, match=r"not registered within tvm: Moon, Sun\."):
        parse_pass_list_str("Moon,FuseOps,Sun")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a -x=1 --f, b -y=2", ["a", "-x=1", "--f", ",", "b", "-y=2"]),
        ("a -x=+v,+w --f ,b -y=t,+v", ["a", "-x=+v,+w", "--f", ",", "b", "-y=t,+v"]),
        ("a -x='+v, +w', b", ["a", "-x='+v, +w'", ",", "b"]),
    ],
)
def test_tokens_of_targets(text: str, tokens: list[str]) -> None:
    assert target.tokenize_target(text) == tokens


def test_parsed_targets() -> None:
    first, second = target.parse_target("a-b -x='+v,+w' --f, llvm -mcpu=haswell")
    assert first == {
        "name": "a-b", "opts": {"x": "+v,+w", "f": True}, "raw": "a-b -x='+v,+w' --f",
        "is_tvm_target": False,
    }  # fmt: skip
    assert second["opts"] == {"mcpu": "haswell"}
    assert second["is_tvm_target"]
    with pytest.raises(TVMCException, match="'mcpu' is no option"):
        target.parse_target("llvm mcpu")


def test_targets(tmp_path: Path) -> None:
    more: dict[str, dict[str, Any]]
    more = {"llvm": {"mcpu": "cortex-a72"}, "opencl": {"max_num_threads": 404}}
    found, others = target.target_from_cli("cutlass -sm=80, opencl -device=mali, llvm", more)
    assert found.kind.name == "opencl"
    assert found.max_num_threads == 404
    assert found.host is not None
    assert found.host.mcpu == "cortex-a72"
    assert [one["name"] for one in others] == ["cutlass"]
    assert others[0]["opts"] == {"sm": "80"}
    twice, others = target.target_from_cli(
        "cmsis-nn, c -mcpu=a", {"c": {"mcpu": "b"}, "cmsis-nn": {"mcpu": "m"}}
    )
    assert twice.mcpu == "b"
    assert others[0]["opts"] == {"mcpu": "m"}
    written = tmp_path / "target.json"
    written.write_text(json.dumps({"kind": "llvm", "mcpu": "haswell"}))
    for text in (str(written), written.read_text()):
        assert target.target_from_cli(text)[0].mcpu == "haswell"
    for text, told in {
        "": "needs to be a TVM target",
        "moon": "needs to be a TVM target",
        "llvm, cutlass": "needs to be a TVM target",
        "llvm, llvm": "Duplicate",
        "cuda, opencl, llvm": "Only two",
        "llvm -mooncpu=1": "mooncpu",
        '{"kind": "moon"}': "moon",
    }.items():
        with pytest.raises(TVMCException, match=told):
            target.target_from_cli(text)
    with pytest.raises(TVMCException, match="--target-cuda-arch but did not specify cuda"):
        target.target_from_cli("llvm", {"cuda": {"arch": "sm_80"}})


def test_target_arguments() -> None:
    parser = argparse.ArgumentParser()
    target.generate_target_args(parser)
    args = parser.parse_args(["--target", "llvm", "--target-llvm-opt-level=2", "--target-c-mcpu=m"])
    assert target.reconstruct_target_args(args) == {"llvm": {"opt-level": 2}, "c": {"mcpu": "m"}}


def test_executors() -> None:
    parser = argparse.ArgumentParser()
    generate_registry_args(parser, Executor)

    def read(*words: str) -> Any:
        return reconstruct_registry_entity(parser.parse_args(words), Executor)

    assert read() is None
    assert read("--executor", "graph") == Executor("graph")
    wanted = Executor("aot", {"interface-api": "c", "unpacked-api": 1})
    more = ("--executor-aot-interface-api=c", "--executor-aot-unpacked-api=true")
    assert read("--executor=aot", *more) == wanted
    with pytest.raises(TVMCException, match="did not specify aot executor"):
        read("--executor", "graph", "--executor-aot-interface-api=c")
    with pytest.raises(TVMCException, match='Executor "moon" is not defined'):
        read("--executor", "moon")
    assert read("--executor-aot-interface-api=c") is None


def test_configurations(tmp_path: Path) -> None:
    said = {
        "targets": [{"kind": "cutlass", "sm": 80}, {"kind": "cuda", "arch": "sm_80"}],
        "executor": {"kind": "aot", "interface-api": "c"}, "opt-level": 1,
        "runtime": {"kind": "cpp"}, "tracker": {"host": "h"},
    }  # fmt: skip
    assert config_options.convert_config_json_to_cli(said) == [
        {"target_cutlass_sm": 80}, {"target_cuda_arch": "sm_80"}, {"target": "cutlass, cuda"},
        {"executor": "aot"}, {"executor_aot_interface_api": "c"}, {"opt_level": 1},
        {"runtime": "cpp"}, {"tracker_host": "h"},
    ]  # fmt: skip
    passes = {"pass-config": {"tir.disable_vectorizer": 1, "tir.unroll": "x"}}
    wanted = [{"pass_config": ["tir.disable_vectorizer=1", "tir.unroll=x"]}]
    assert config_options.convert_config_json_to_cli(passes) == wanted
    read = config_options.read_and_convert_json_into_dict
    (tmp_path / "deep").mkdir()
    file = tmp_path / "deep" / "mine.json"
    file.write_text(json.dumps(said))
    assert config_options.find_json_file("mine", tmp_path) == file
    assert config_options.find_json_file("other", tmp_path) is None
    assert read(SimpleNamespace(config=str(file))) == said
    assert read(SimpleNamespace(config="host")) == {"targets": [{"kind": "llvm"}]}
    file.write_text("[1]")
    for name in ("moon", str(file), str(tmp_path / "none.json")):
        with pytest.raises(TVMCException, match="Configuration"):
            read(SimpleNamespace(config=name))


def test_the_folder_of_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_options, "CONFIGS_JSON_DIR", None)
    monkeypatch.setenv("TVM_CONFIGS_JSON_DIR", str(tmp_path / "none"))
    with pytest.raises(config_options.ConfigsJsonNotFoundError, match="TVM_CONFIGS_JSON_DIR"):
        config_options.get_configs_json_dir()
    (tmp_path / "board.json").write_text('{"targets": [{"kind": "c"}]}')
    monkeypatch.setenv("TVM_CONFIGS_JSON_DIR", str(tmp_path))
    assert config_options.get_configs_json_dir() == str(tmp_path)
    read = config_options.read_and_convert_json_into_dict(SimpleNamespace(config="board"))
    assert read == {"targets": [{"kind": "c"}]}
    monkeypatch.setenv("TVM_CONFIGS_JSON_DIR", "moon")
    assert config_options.get_configs_json_dir() == str(tmp_path), "found once"


def test_the_frontend_is_told_by_the_suffix() -> None:
    guessed = [frontends.guess_frontend(f"net.{suffix}").name() for suffix in (
        "onnx", "h5", "pb", "tflite", "pth", "zip", "pdmodel", "relay",
    )]  # fmt: skip
    assert guessed == ["onnx", "keras", "pb", "tflite", "pytorch", "pytorch", "paddle", "relay"]
    names = ["keras", "onnx", "pb", "tflite", "pytorch", "paddle", "relay"]
    assert frontends.get_frontend_names() == names
    assert isinstance(frontends.get_frontend_by_name("keras"), frontends.KerasFrontend)
    for name in ("keras", "pb", "tflite", "paddle"):
        with pytest.raises(TVMCException, match="legal: ONNX"):
            frontends.get_frontend_by_name(name).load("net")


def test_rules_of_precision_end_with_their_scope() -> None:
    of = Op.get("nn.conv2d")
    before = of.get_attr("FTVMMixedPrecisionConversionType")
    with transform.MixedPrecision(["nn.conv2d"], "float32"):
        rule = of.get_attr("FTVMMixedPrecisionConversionType")
        assert list(rule(None, "float16")) == [0, "float32", "float16"]
    assert of.get_attr("FTVMMixedPrecisionConversionType") is before


def test_compilers_of_parts() -> None:
    assert "cutlass" in composite_target.get_codegen_names()
    found = composite_target.get_codegen_by_target("cmsis-nn")
    assert found["config_key"] == "relay.ext.cmsisnn.options"
    assert found["pass_pipeline"].__name__ == "partition_for_cmsisnn"
    with pytest.raises(TVMCException, match="Composite target moon is not defined in TVMC"):
        composite_target.get_codegen_by_target("moon")
    x, w = var("x", shape=(2, 4)), var("w", shape=(3, 4))
    mod = tvm.IRModule.from_expr(Function([x, w], nn.dense(x, w)))
    for name in ("cublas", "cudnn"):
        parted = composite_target.partition(mod, None, {"name": name, "opts": {}})
        assert ('Compiler="cublas"' in str(parted)) == (name == "cublas")


def test_layouts_and_precision() -> None:
    x, w = var("x", shape=(1, 8, 6, 6)), var("w", shape=(4, 8, 3, 3))
    mod = tvm.IRModule.from_expr(Function([x, w], nn.relu(nn.conv2d(x, w))))
    assert transform.apply_graph_transforms(mod, None) is mod
    for layout, kernel in (("NHWC", "HWIO"), ("NHWC:OHWI", "OHWI")):
        text = str(transform.apply_graph_transforms(mod, {"desired_layout": [layout]}))
        assert 'data_layout="NHWC"' in text
        assert f'kernel_layout="{kernel}"' in text
    with pytest.raises(TVMCException, match="found 2 for 3 operators"):
        transform.convert_graph_layout(mod, ["NHWC", "NCHW"])
    with pytest.raises(TVMCException, match="Error converting layout to moon"):
        transform.convert_graph_layout(mod, "moon")
    narrow = {"mixed_precision": True, "mixed_precision_acc_type": "float32"}
    main = transform.apply_graph_transforms(mod, narrow)["main"]
    assert isinstance(main, Function)
    body: Any = main.body
    assert body.checked_type.dtype == "float32"
    text = str(body)
    assert 'out_dtype="float32"' in text
    assert text.count('dtype="float16"') >= 2
    kept = transform.apply_graph_transforms(mod, {**narrow, "mixed_precision_ops": ["nn.dense"]})
    assert "float16" in str(kept)           # nn.conv2d has that rule of its own
    with pytest.raises(TVMCException, match="moon"):
        transform.convert_to_mixed_precision(mod, ["moon"])
    parser = argparse.ArgumentParser()
    transform.generate_transform_args(parser)
    args = parser.parse_args(["--desired-layout", "NHWC", "--mixed-precision"])
    found = transform.parse_graph_transform_args(args)
    assert found["desired_layout"] == ["NHWC"]
    assert found["mixed_precision"]


def test_early_look_at_a_command_line() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", default="default")
    parser.add_argument("FILE")
    early = TVMCSuppressedArgumentParser(parser)
    known, rest = early.parse_known_args(["--config", "host", "--moon", "-h"])
    assert (known.config, rest) == ("host", ["--moon", "-h"])
