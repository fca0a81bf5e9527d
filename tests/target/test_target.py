"""Targets: written forms, hosts, the current one, options, errors."""

from __future__ import annotations

import pytest

from tvm.error import InternalError, TargetError
from tvm.ir import load_json, save_json
from tvm.target import Target, list_tags, register_tag

pytestmark = pytest.mark.pure


def test_forms_agree() -> None:
    text = Target("llvm -mcpu=znver4 -num-cores 8 -mattr=+avx2,+fma")
    config = Target({"kind": "llvm", "mcpu": "znver4", "num-cores": 8, "mattr": ["+avx2", "+fma"]})
    assert text == config == Target(text.to_json()) == Target(str(text)) == Target(text)
    assert hash(text) == hash(config)
    assert text.mattr == ["+avx2", "+fma"]
    assert text.keys == ("cpu",)
    assert str(text).startswith("llvm -keys=cpu ")


def test_kinds_bring_defaults() -> None:
    cuda = Target("cuda -arch=sm_80")
    assert cuda.thread_warp_size == 32
    assert cuda.max_num_threads == 1024
    assert cuda.arch == "sm_80"
    assert cuda.keys == ("cuda", "gpu")
    assert cuda.supports_integer_dot_product
    assert Target("opencl -device=mali").keys == ("mali", "opencl", "gpu")
    assert Target("llvm").get_target_device_type() == 1


def test_hosts() -> None:
    cuda = Target("cuda", host="llvm -mcpu=znver4")
    assert cuda.host is not None
    assert cuda.host.mcpu == "znver4"
    assert cuda.cpu.name == "znver4"
    assert Target(cuda.export()) == cuda
    assert Target("cuda").with_host("llvm").host is not None
    made, host = Target.canon_target_and_host("cuda", "llvm")
    assert made.host == host
    other = Target(cuda, host="llvm -mcpu=znver3")
    assert other.host is not None
    assert other.host.mcpu == "znver3", "the one beside it wins"
    assert Target({"kind": "cuda", "host": "llvm"}, "c").export()["host"]["kind"] == "c"


@pytest.mark.parametrize("text", ["llvm -mcpu=", "c -libs=", "c -keys=", "c --device= -tag=a"])
def test_an_option_with_nothing_behind_its_sign(text: str) -> None:
    with pytest.raises(ValueError, match="Empty attribute key or value"):
        Target(text)


def test_current() -> None:
    assert Target.current() is None
    with Target("llvm") as outer:
        with Target("cuda") as inner:
            assert Target.current() is inner
        assert Target.current() is outer
        assert Target.target_or_current(None) is outer
    with pytest.raises(InternalError, match="Target context required"):
        Target.current(allow_none=False)
    with pytest.raises(ValueError, match="Target is not set in env"):
        Target.target_or_current(None)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("lvm", "Target kind 'lvm' is not defined; did you mean 'llvm'"),
        ("llvm -mcp=x", "Target kind 'llvm' has no option 'mcp'; did you mean 'mcpu'"),
        ("llvm -num-cores=abc", "option 'num-cores'\n  found: 'abc'\n  legal: an integer"),
        ("llvm -fast-math=maybe", "legal: true, false, 1 or 0"),
        ("llvm mcpu", "an option starts with '-'"),
        ("llvm -mcpu=a -mcpu=b", "option 'mcpu' is given twice"),
        ("", "the text is empty"),
        ("{not json", "not a JSON object"),
        ({"mcpu": "x"}, "the dict has no 'kind'"),
        ({"kind": "llvm", "num-cores": "many"}, "legal: a value of type int"),
        ({"kind": 3}, "legal: a string"),
    ],
)
def test_errors(target: object, message: str) -> None:
    with pytest.raises(ValueError) as error:
        Target(target)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="target has to be a string or dictionary"):
        Target(3)  # type: ignore[arg-type]


def test_missing_options() -> None:
    with pytest.raises(ValueError, match="does not say 'max_shared_memory_per_block'"):
        _ = Target("webgpu").max_shared_memory_per_block


def test_json_of_programs_holds_targets() -> None:
    target = Target("cuda", host="llvm")
    assert load_json(save_json(target)) == target


def test_features() -> None:
    assert Target("llvm -mcpu=znver4").features.has_avx512f is True
    assert Target("llvm -mcpu=znver2").features.has_avx512f is False
    assert Target({"kind": "llvm", "feature": {"has_x": 3}}).features.has_x == 3
    assert Target("llvm").features.unknown_thing is None


def test_tags() -> None:
    a100 = Target("nvidia/nvidia-a100")
    assert (a100.arch, a100.tag) == ("sm_80", "")
    assert repr(a100) == str(a100)
    pi = Target("raspberry-pi/4b-aarch64")
    assert pi.cpu.arch == "aarch64"
    assert "nvidia/rtx-a6000" in list_tags()
    made = register_tag("test/tag", {"kind": "llvm", "mcpu": "znver3"}, override=True)
    assert made.mcpu == "znver3"
    with pytest.raises(ValueError, match="is registered already"):
        register_tag("test/tag", {"kind": "llvm"})


def test_list_kinds() -> None:
    assert {"llvm", "c", "cuda", "metal", "webgpu"} <= set(Target.list_kinds())


def test_values_with_spaces_keep_their_place_in_the_text() -> None:
    target = Target("vulkan -device_name='Name of GPU with spaces' -device_type=discrete")
    assert target.attrs["device_name"] == "Name of GPU with spaces"
    assert Target(str(target)) == target


def test_composite_targets_hold_targets() -> None:
    target = Target({"kind": "composite", "devices": [{"kind": "opencl"}, "cuda"]})
    assert [device.kind.name for device in target.attrs["devices"]] == ["opencl", "cuda"]
    assert Target(target.export()) == target
    text = Target("composite --host=llvm --devices=cuda,opencl")
    assert [device.kind.name for device in text.attrs["devices"]] == ["cuda", "opencl"]
    assert text.host.kind.name == "llvm"
    with pytest.raises(ValueError, match="Target kind 'nope' is not defined"):
        Target("composite --devices=cuda,nope")


def test_a_host_in_the_text_may_be_a_tag() -> None:
    assert Target("cuda --host nvidia/jetson-nano").host.attrs["arch"] == "sm_53"
    assert Target("cuda --host=llvm").host.kind.name == "llvm"


def test_what_is_no_target() -> None:
    with pytest.raises(ValueError, match="target has to be a string or dictionary"):
        Target(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target host has to be a string or dictionary"):
        Target("cuda", 12.34)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match="no target"):
        Target.canon_multi_target_and_host(None)


def test_several_targets() -> None:
    llvm, cuda = Target("llvm"), Target("cuda")
    assert Target.canon_multi_target({1: "llvm", 2: cuda}) == [llvm, cuda]
    assert Target.canon_multi_target({"kind": "llvm"}) == [llvm]
    assert Target.canon_multi_target(("llvm", cuda)) == [llvm, cuda]
    assert Target.canon_multi_target(None) is None
    with pytest.raises(AssertionError, match="no map"):
        Target.canon_target_map_and_host(None)


@pytest.mark.cpu
def test_features_by_their_names_in_tvm_and_in_llvm() -> None:
    arm = "llvm -mtriple=aarch64-linux-gnu "
    features = Target(arm + "-mattr=+sve").features
    assert (features.is_aarch64, features.has_sve, features.has_asimd) == (True, True, True)
    assert not features.has_sme
    assert Target(arm + "-mcpu=cortex-a710").features.has_matmul_i8
    x86 = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids").features
    assert x86.has_amx_int8
    assert not x86.is_aarch64
    assert Target("test").features.is_test is True
    assert Target("cuda").features.is_test is None
    assert Target({"kind": "cuda", "feature": {"is_test": 3}}).features.is_test == 3


@pytest.mark.parametrize("bits", [100, 7, -3, 131072, 16])
def test_vector_widths_are_powers_of_two(bits: int) -> None:
    with pytest.raises(TargetError) as caught:
        Target({"kind": "llvm", "vector-width": bits})
    assert f"vector-width\n  found: {bits}\n  legal: a power of two from 32" in str(caught.value)


def test_the_vector_width_can_be_given() -> None:
    assert Target("llvm -vector-width=256").cpu.vector_bits == 256


def test_the_cpu_of_this_machine_by_name() -> None:
    assert Target("llvm -mcpu=native").cpu is Target("llvm").cpu
    assert Target("llvm").is_this_machine
    assert not Target("llvm -mcpu=znver4").is_this_machine


@pytest.mark.parametrize(
    "config", [{"keys": 3}, {"keys": [3]}, {"keys": None}, {"tag": 3}, {"mattr": ["+a", 3]}, {3: 4},
     {"keys": "a"}, {"mattr": "+a"}]
)
def test_options_of_other_types_are_named(config) -> None:
    (name,) = config
    with pytest.raises(TargetError, match=f"option.*{name}|found: {name}"):
        Target({"kind": "llvm", **config} if isinstance(name, str) else {"kind": "llvm", name: 4})


def test_keys_that_are_given_replace_those_of_the_kind() -> None:
    assert Target("cuda -keys=a,b,a").keys == ("a", "b")
    assert Target({"kind": "llvm", "keys": []}).keys == ()
    assert Target("llvm -device=mine").keys == ("mine", "cpu")
    assert Target("llvm -device=mine -keys=z").keys == ("z", "mine")
    assert Target("c -mcpu=cortex-m7 -keys=q").keys == ("q", "arm_cpu", "cpu")


def test_an_option_that_is_not_said_is_a_missing_key() -> None:
    with pytest.raises(KeyError, match="does not say 'max_num_threads'"):
        _ = Target("llvm -mtriple=x86_64-linux-gnu").max_num_threads
    assert Target("cuda").max_function_args == 0
