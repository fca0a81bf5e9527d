"""The target of a compilation: a kind with options, keys that select schedules, and a host."""

from __future__ import annotations

import json
import shlex
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final

from typing_extensions import Self

from tvm.error import CheckError, TargetError, TVMError, message
from tvm.ir.global_info import TARGET_MAKERS
from tvm.ir.node import Field, Node, fields, register_nodes
from tvm.support.frozen import FrozenMap
from tvm.support.lazy import lazy_names

from .arm_profile import is_a_profile, is_m_profile, m_profile_features
from .cpu_model import CpuModel, arch_of_triple, with_features
from .gpu_model import GpuModel, model_of
from .host_cpu import available_cores, host_arch, host_cpu, host_triple
from .kind import CPU, TargetKind, find_kind
from .named_cpu import named_cpu
from .parse import check_options, parse_target
from .values import check_values

# the makers of targets, which need the class
__getattr__ = lazy_names(
    __name__,
    {
        name: f"tvm.target.makers:{name}"
        for name in (
            "adreno", "arm_cpu", "bifrost", "create", "cuda", "hexagon", "intel_graphics", "mali",
            "rasp", "riscv_cpu", "rocm", "stm32",
        )
    },
)  # fmt: skip


class _Entered(threading.local):
    def __init__(self) -> None:
        self.targets: list[Target] = []


_ENTERED: Final = _Entered()


class TargetTypeError(TargetError, TypeError):
    """A target given as something that is none of its forms."""


class UnsaidError(TargetError, KeyError):
    """An option that a target does not have."""

    __str__ = TargetError.__str__  # that of KeyError is the repr


class Target(Node):
    """What to compile for.

    `target` is a string (`"llvm -mcpu=znver4"`, a tag, JSON), a dict with a `kind`, or a Target.
    `host` is the target of the code that drives a device. Raises TargetError with the nearest names
    for unknown kinds and options.
    """

    __slots__ = ("attrs", "host", "keys", "kind", "tag")
    TYPE_KEY = "target.Target"
    FIELDS: ClassVar[tuple[Field, ...]] = fields(
        "kind", "tag", "keys", "attrs", "features~", "host"
    )

    def __init__(
        self,
        target: Target | Mapping[str, Any] | str,
        host: Target | Mapping[str, Any] | str | None = None,
    ) -> None:
        if isinstance(target, Target):
            config = target.export()
        elif isinstance(target, str):
            config = parse_target(target)
        elif isinstance(target, Mapping):
            config = dict(target)
        else:
            raise TargetTypeError(
                f"target has to be a string or dictionary, instead get {type(target)}"
            )
        if host is not None and not isinstance(host, (Target, str, Mapping)):
            raise TargetTypeError("target host has to be a string or dictionary.")
        if "kind" not in config:
            if "tag" not in config:
                raise TargetError(
                    message("Target: the dict has no 'kind'", legal="kind, and the kind's options")
                )
            config = {**parse_target(config["tag"]), **config}
        kind_name = config["kind"]
        if not isinstance(kind_name, str):
            raise TargetError(message("Target: 'kind'", found=repr(kind_name), legal="a string"))
        self.kind: Final = find_kind(kind_name)
        self.tag: Final[str] = str(config.get("tag", ""))
        attrs = check_options(self.kind, config)
        for name, option_type in self.kind.options.items():
            if option_type == "targets" and name in attrs:
                attrs[name] = tuple([Target(one) for one in attrs[name]])
        if self.kind.device_type == CPU and "mtriple" in self.kind.options:
            attrs.setdefault("mtriple", host_triple())
        check_values(attrs)
        self.attrs: Final[FrozenMap[str, Any]] = FrozenMap(dict(sorted(attrs.items())))
        self.keys: Final = _all_keys(self.kind, config, attrs)
        given = host if host is not None else config.get("host")
        self.host: Final = None if given is None else Target(given)

    @classmethod
    def from_fields(cls, values: dict[str, object]) -> Target:
        """Rebuilt from the exported form."""
        config = dict(values["attrs"])  # type: ignore[call-overload]
        config.update(kind=values["kind"], tag=values["tag"], keys=values["keys"])
        return Target(config, values.get("host"))  # type: ignore[arg-type]

    def field_values(self) -> dict[str, object]:
        """The kind by its name, which is how it is saved."""
        return {
            "kind": self.kind.name,
            "tag": self.tag,
            "keys": self.keys,
            "attrs": self.attrs,
            "host": self.host,
        }

    # --- written forms ---

    def export(self) -> dict[str, Any]:
        """The target as a dict that `Target` takes."""
        config: dict[str, Any] = {"kind": self.kind.name, "tag": self.tag, "keys": list(self.keys)}
        for name, value in self.attrs.items():
            if isinstance(value, tuple):
                value = [item.export() if isinstance(item, Target) else item for item in value]
            config[name] = value
        if self.host is not None:
            config["host"] = self.host.export()
        return config

    def to_json(self) -> str:
        """The exported form as JSON."""
        return json.dumps(self.export(), sort_keys=True)

    def __str__(self) -> str:
        parts = [self.kind.name]
        if self.keys:
            parts.append(f"-keys={','.join(self.keys)}")
        for name, value in self.attrs.items():
            if isinstance(value, Target) or name == "feature":
                continue
            if isinstance(value, tuple):
                if any(isinstance(item, Target) for item in value):
                    continue  # targets have no form within a word
                value = ",".join(str(item) for item in value)
            word = str(int(value) if isinstance(value, bool) else value)
            parts.append(f"-{name}={shlex.quote(word) if _needs_quotes(word) else word}")
        return " ".join(parts)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What notebooks show: the options, and the processor as rules see it."""
        from tvm.support.html import document, folded, table  # only where there is a notebook

        options = [[name, str(value)] for name, value in sorted(self.attrs.items())]
        rows = [["kind", self.kind.name], ["keys", ", ".join(self.keys)], *options]
        if self.host is not None:
            rows.append(["host", str(self.host)])
        parts = [table(["target", ""], rows)]
        if "cpu" in self.keys:
            model = [[name, _text(getattr(self.cpu, name))] for name in CpuModel.__annotations__]
            parts.append(folded("processor", table(["", ""], model)))
        return document(*parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and self.export() == other.export()

    def __hash__(self) -> int:
        return hash(self.to_json())

    # --- the current target ---

    def __enter__(self) -> Self:
        _ENTERED.targets.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _ENTERED.targets.pop()

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The innermost target entered by `with`."""
        if _ENTERED.targets:
            return _ENTERED.targets[-1]
        if allow_none:
            return None
        raise CheckError(
            message(
                "Check failed: (allow_not_defined) is false: Target context required. Please set "
                "it by constructing a TargetContext",
                found="no target",
                legal="with tvm.target.Target('llvm'): ...",
            )
        )

    @staticmethod
    def target_or_current(target: Target | Mapping[str, Any] | str | None) -> Target:
        """The given target, else the current one; a TargetError when there is none."""
        found = Target.current() if target is None else Target(target)
        if found is None:
            raise TargetError("Target is not set in env or passed as argument.")
        return found

    # --- with hosts ---

    def with_host(self, host: Target | Mapping[str, Any] | str | None = None) -> Target:
        """This target with another host."""
        config = {key: value for key, value in self.export().items() if key != "host"}
        return Target(config, host)

    def without_host(self) -> Target:
        """The target alone, as kernels know it."""
        return Target({key: value for key, value in self.export().items() if key != "host"})

    @staticmethod
    def canon_target(target: Any) -> Target | None:
        """`target` as a Target; None stays None."""
        return None if target is None else target if isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(target: Any, target_host: Any = None) -> tuple[Any, Any]:
        """The target with its host, and the host."""
        if target is None:
            if target_host is not None:
                raise TargetError("Target host is not empty when target is empty.")
            return None, None
        made = Target.canon_target(target)
        assert made is not None, "None was handled above"
        if target_host is not None and made.host is None:
            made = made.with_host(target_host)
        return made, made.host

    @staticmethod
    def canon_multi_target(multi_targets: Any) -> list[Target] | None:
        """Each of several targets as a Target; of a map without a kind, its values."""
        if multi_targets is None:
            return None
        if isinstance(multi_targets, Mapping) and "kind" not in multi_targets:
            several = list(multi_targets.values())
        else:
            listed = isinstance(multi_targets, (list, tuple))
            several = list(multi_targets) if listed else [multi_targets]
        return [Target(target) for target in several]

    @staticmethod
    def canon_multi_target_and_host(target: Any, target_host: Any = None) -> list[Target]:
        """Each of several targets with the host."""
        several = Target.canon_multi_target(target)
        if not several:
            raise AssertionError("canon_multi_target_and_host: no target; legal: one or several")
        return [Target.canon_target_and_host(one, target_host)[0] for one in several]

    @staticmethod
    def canon_target_map_and_host(target_map: Any, target_host: Any = None) -> tuple[Any, Any]:
        """A map whose keys are targets, with the host in each."""
        if target_map is None:
            raise AssertionError("canon_target_map_and_host: no map; legal: {target: ...}")
        canon = {
            Target.canon_target_and_host(key, target_host)[0]: value
            for key, value in target_map.items()
        }
        host = next((key.host for key in canon if key.host is not None), None)
        return canon, host

    @staticmethod
    def list_kinds() -> list[str]:
        """The names of all kinds."""
        from .kind import KINDS

        return sorted(KINDS)

    @staticmethod
    def from_device(device: Any) -> Target:
        """The target of a device of this machine (`"cpu"`, `"cuda:0"`, or a Device)."""
        from .detect_target import detect_target_from_device

        return detect_target_from_device(device)

    # --- options ---

    def _number(self, name: str) -> int:
        value = self.attrs.get(name)
        if value is None:
            raise UnsaidError(f"target {self} does not say {name!r}")
        return int(value)

    @property
    def arch(self) -> str:
        """The CUDA architecture, such as sm_80."""
        return str(self.attrs.get("arch", ""))

    @property
    def max_num_threads(self) -> int:
        """The most threads of one block."""
        return self._number("max_num_threads")

    @property
    def max_block_size_x(self) -> int:
        """The most threads in the x dimension."""
        return self._number("max_block_size_x")

    @property
    def max_block_size_y(self) -> int:
        """The most threads in the y dimension."""
        return self._number("max_block_size_y")

    @property
    def thread_warp_size(self) -> int:
        """Threads that run in lockstep."""
        return self._number("thread_warp_size")

    @property
    def max_shared_memory_per_block(self) -> int:
        """Bytes of shared memory of one block."""
        return self._number("max_shared_memory_per_block")

    @property
    def max_function_args(self) -> int:
        """The most arguments of a kernel."""
        return int(self.attrs.get("max_function_args", 0))

    @property
    def vtcm_capacity(self) -> int:
        """Bytes of tightly coupled memory of a DSP."""
        return int(self.attrs.get("vtcm-capacity", 0))

    @property
    def device_name(self) -> str:
        """The device's name."""
        return str(self.attrs.get("device", ""))

    @property
    def model(self) -> str:
        """The model's name."""
        return str(self.attrs.get("model", "unknown"))

    @property
    def mcpu(self) -> str:
        """LLVM's name of the CPU; empty for the host."""
        return str(self.attrs.get("mcpu", ""))

    @property
    def mattr(self) -> list[str]:
        """CPU features switched on (+) and off (-)."""
        return list(self.attrs.get("mattr", ()))

    @property
    def supports_integer_dot_product(self) -> bool:
        """Whether the GPU has integer dot products (sm_61 and later for CUDA)."""
        return bool(self.attrs.get("supports_integer_dot_product")) or self.cuda_version >= 61

    @property
    def cuda_version(self) -> int:
        """The compute capability of a CUDA target, as 80 for sm_80; 0 where it is not told."""
        digits = "".join(c for c in self.arch if c.isdigit())
        return int(digits) if "arch" in self.kind.options and digits else 0

    def has_float(self, element: str) -> bool:
        """Whether code for the target can hold a floating type, given by its name.

        A CUDA target that does not tell its architecture is taken to have what CUDA has. A CPU has
        float16 where an instruction converts it; elsewhere LLVM would call a library that not every
        system has, once for each element.
        """
        least = self.kind.traits.narrow_floats.get(element)
        if least is None:
            return element in ("float32", "float64")
        if self.kind.traits.machine_code and element == "float16":
            return self.cpu.converts_half
        return not 0 < self.cuda_version < least

    @property
    def supports_cooperative_matrix(self) -> bool:
        """Whether the GPU has cooperative matrices."""
        return bool(self.attrs.get("supports_cooperative_matrix", False))

    @property
    def libs(self) -> list[str]:
        """Libraries that may be used."""
        return list(self.attrs.get("libs", ()))

    @property
    def features(self) -> TargetFeatures:
        """Features as attributes: `target.features.has_sve`."""
        return TargetFeatures(self)

    @property
    def l2_cache_size_bytes(self) -> int:
        """The second-level cache, in bytes; 0 when unknown."""
        return int(self.attrs.get("l2_cache_size_bytes", 0))

    def get_kind_attr(self, attr_name: str) -> object:
        """An attribute of the kind."""
        return self.kind.get_attr(attr_name)

    def get_target_device_type(self) -> int:
        """The DLPack device type."""
        return int(self.attrs.get("target_device_type", self.kind.device_type))

    @property
    def cpu(self) -> CpuModel:
        """The machine model that scheduling rules read; of the host target for a device."""
        if self.kind.device_type != CPU and self.host is not None:
            return self.host.cpu
        arch = self.cpu_arch
        cores = int(self.attrs.get("num-cores", 0))
        if self.mcpu in ("host", "native") or self.is_this_machine:
            model = host_cpu() if not cores else replace(host_cpu(), cores=cores)
        else:
            model = named_cpu(self.mcpu, arch, cores or available_cores())
        if self.mattr:
            model = with_features(model, self.mattr)
        bits = int(self.attrs.get("vector-width", 0))
        return replace(model, vector_bits=bits) if bits else model

    @property
    def gpu(self) -> GpuModel:
        """The machine model of a GPU; for a target that names no machine, of one that is usual."""
        return model_of(self.kind.name, self.attrs)

    @property
    def cpu_arch(self) -> str:
        """The architecture of the triple (`x86_64`, `aarch64`, `riscv64`), or of this machine."""
        return arch_of_triple(str(self.attrs.get("mtriple", host_arch())))

    @property
    def is_this_machine(self) -> bool:
        """Whether the code is for this machine's architecture, and no other CPU is named."""
        return not self.mcpu and self.cpu_arch == host_arch()


# What TVM calls features that LLVM calls otherwise.
_LLVM_NAMES: Final = {"asimd": "neon", "matmul_i8": "i8mm", "fp16_simd": "fullfp16"}


def has_feature(target: Target, name: str) -> bool:
    """Whether the CPU has a feature, by TVM's or LLVM's name for it (`sve`, `amx_int8`)."""
    name = _LLVM_NAMES.get(name, name)
    names = {name, name.replace("_", "-"), name.replace("_", ".")}
    if names & target.cpu.features:
        return True
    try:
        from .codegen import llvm_get_cpu_features  # asks LLVM, which takes a while

        return bool(names & llvm_get_cpu_features(target))
    except (ImportError, TVMError):
        return False  # no LLVM here, or not for that architecture


class TargetFeatures:
    """Features by name; what is unknown is None."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def __getattr__(self, name: str) -> object:
        target = self._target
        given = {**target.kind.features, **target.attrs.get("feature", {})}
        if name in given:
            return given[name]
        if target.kind.device_type != CPU or name.startswith("__"):
            return None
        if is_m_profile(target.attrs) and name in ("has_dsp", "has_mve"):
            return m_profile_features(target.attrs)[name]
        if name == "is_aarch64":
            return target.cpu_arch == "aarch64"
        if name.startswith("has_"):
            return has_feature(target, name.removeprefix("has_"))
        return None


def _text(value: object) -> str:
    """A fact of a processor, as notebooks show it."""
    if isinstance(value, frozenset):
        return ", ".join(sorted(value))
    return f"{value:,}" if isinstance(value, int) else str(value)


def _needs_quotes(word: str) -> bool:
    return any(c.isspace() or c in "\"'\\" for c in word)


def _all_keys(
    kind: TargetKind, config: Mapping[str, Any], attrs: Mapping[str, Any]
) -> tuple[str, ...]:
    """Keys given or those of Arm's CPUs, the device's name, and the kind's if none are given."""
    keys = list(config.get("keys", ()))
    if is_m_profile(attrs) or (kind.traits.machine_code and is_a_profile(attrs)):
        keys.extend(("arm_cpu", "cpu"))
    device = attrs.get("device")
    if device:
        keys.append(str(device))
    if "keys" not in config:
        keys.extend(kind.default_keys)
    return tuple(dict.fromkeys(key for key in keys if key))


register_nodes(Target)
TARGET_MAKERS.register("target", Target)
