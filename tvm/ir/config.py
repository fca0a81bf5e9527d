"""The options of a pass context: every key, the type of its value, and records of several fields.

Keys are declared in this table only, so an unknown key is always found.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tvm.error import ConfigError, ConfigFieldError, message
from tvm.ffi.object import Object
from tvm.support.arguments import explained
from tvm.support.frozen import FrozenMap
from tvm.support.suggest import did_you_mean

_RECORDS: Final[dict[str, dict[str, object]]] = {
    "tir.HoistExpression": {"hoisted_conditionals": 7, "hoisted_let_bindings": 7},
    "tir.HoistIfThenElse": {"support_block_scope_hoisting": False},
    "tir.InjectDoubleBuffer": {"split_loop": 1},
    "tir.LoopPartition": {
        "partition_const_loop": False,
        "no_unroll_loop_with_extent_one": False,
        "unroll_loop_with_partition_hint_no_interval": False,
    },
    "tir.ReduceBranchingThroughOvercompute": {"use_dataflow_analysis": False},
    "tir.RemoveNoOp": {"use_dataflow_analysis": False, "max_simplification_steps": 0},
    "tir.Simplify": {
        "transitively_prove_inequalities": False,
        "propagate_knowns_to_prove_conditional": False,
        "propagate_knowns_to_simplify_expressions": False,
        "convert_boolean_to_and_of_ors": False,
        "apply_constraints_to_boolean_branches": False,
    },
    "tir.UnrollLoop": {
        "auto_max_step": 0,
        "auto_max_depth": 8,
        "auto_max_extent": 0,
        "explicit_unroll": True,
        "unroll_local_access": False,
    },
    "relay.ext.cmsisnn.options": {"mcpu": "", "mattr": "", "debug_last_error": False},
    "relax.ext.clml.options": {"clml_version": 3},
    "relax.ext.tensorrt.options": {
        "tensorrt_version": (6, 0, 1),
        "use_implicit_batch": True,
        "max_workspace_size": 1 << 30,
        "remove_no_mac_subgraphs": False,
        "use_fp16": False,
        "use_uint8": False,
    },
}
_BOOLS: Final = (
    "relay.FuseOps.link_params", "relay.ToMixedPrecision.keep_orig_output_dtype",
    "relay.backend.disable_memory_plan", "relay.backend.use_auto_scheduler",
    "relay.backend.use_meta_schedule", "relay.frontend.fill_span",
    "relay.remove_standalone_reshapes.enable",
    "relax.backend.use_cuda_graph", "relax.lift_transform_params.consume_params",
    "relax.transform.apply_legalize_ops",
    "testing.immutable_module", "tir.debug_keep_trivial_loop", "tir.detect_global_barrier",
    "tir.disable_assert", "tir.disable_cse_tir", "tir.disable_storage_rewrite",
    "tir.disable_vectorize", "tir.enable_buffer_level_predication", "tir.enable_debug",
    "tir.enable_equiv_terms_in_cse_tir", "tir.instr_siblings", "tir.instrument_bound_checkers",
    "tir.instrument_lwp", "tir.is_entry_func", "tir.lwp_disable_func_prof",
    "tir.merge_static_smem", "tir.noalias", "tir.ptx_ldg32", "tir.reset_start_id",
    "tir.use_async_copy",
    "tir.usmp.enable", "tir.usmp.use_workspace_io",
)  # fmt: skip
_INTS: Final = (
    "relay.FuseOps.max_depth", "relay.fallback_device_type",
    "relay.backend.use_meta_schedule_dispatch",
    "relay.collage.byoc_max_depth", "relay.collage.tvm_max_depth",
    "relax.FuseOps.max_depth", "relax.fallback_device_type", "tir.lwp_max_depth",
    "tir.lwp_min_height", "tir.vtcm_capacity",
)  # fmt: skip
# Options called usmp choose a planner of memory in Relay v0.18; there is one, which always plans.
_STRINGS: Final = (
    "cuda.kernels_output_dir", "relay.backend.tir_converter", "tir.usmp.algorithm",
    "tir.usmp.custom_algorithm",
)  # fmt: skip
_LISTS: Final = ("relay.collage.byoc_fusion_style", "tir.add_lower_pass")

KEYS: Final[dict[str, str]] = {
    **dict.fromkeys(_BOOLS, "bool"),
    **dict.fromkeys(_INTS, "int"),
    **dict.fromkeys(_STRINGS, "str"),
    **dict.fromkeys(_LISTS, "list"),
    **dict.fromkeys(_RECORDS, "record"),
}


class ConfigRecord(Object):
    """Several options under one key, read as attributes."""

    __slots__ = ("_values", "key")

    def __init__(self, key: str, values: Mapping[str, object]) -> None:
        defaults = _RECORDS[key]
        for name in values:
            if name not in defaults:
                raise ConfigFieldError(
                    message(
                        f"PassContext config {key!r} has no field {name!r}"
                        f"{did_you_mean(name, defaults)}",
                        legal=", ".join(f"{n} = {v}" for n, v in defaults.items()),
                    )
                )
        given = {name: _field(key, name, value, defaults[name]) for name, value in values.items()}
        self.key = key
        self._values = FrozenMap({**defaults, **given})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._values:
            raise AttributeError(f"config {self.key!r} has no field {name!r}")
        return self._values[name]

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __repr__(self) -> str:
        return f"{self.key}({', '.join(f'{n}={v}' for n, v in self._values.items())})"


def _field(key: str, name: str, value: object, default: object) -> object:
    """The value of a field, in the type of its default."""
    plain = getattr(value, "value", value)  # an IntImm stands for its value
    if isinstance(default, int):
        if not isinstance(plain, int):
            raise ConfigFieldError(
                message(
                    f"PassContext config {key!r}: field {name!r}",
                    found=f"{value!r} of type {type(value).__name__}",
                    legal=f"a value of type {type(default).__name__}",
                )
            )
        return type(default)(plain)
    return value


def default_record(key: str) -> ConfigRecord:
    """The record that is in force when a context says nothing."""
    return ConfigRecord(key, {})


@explained
def check_config(config: Mapping[str, object] | None) -> FrozenMap[str, Any]:
    """The options with their values in the declared types.

    Raises ConfigError for an unknown key (with the nearest names) or a value of another type.
    """
    return FrozenMap({key: _check(key, value) for key, value in (config or {}).items()})


def _check(key: str, value: object) -> object:
    if not isinstance(key, str):
        raise TypeError(f"PassContext: the config has the key {key!r}; legal: names of options")
    kind = KEYS.get(key)
    if kind is None:
        raise ConfigError(
            message(
                f"Invalid config option {key!r}{did_you_mean(key, KEYS)}",
                legal="tvm.transform.PassContext.list_configs() lists all options",
            )
        )
    if kind == "record":
        if isinstance(value, ConfigRecord):
            return value
        if isinstance(value, Mapping):
            return ConfigRecord(key, value)
    plain = getattr(value, "value", value)  # an IntImm or StringImm stands for its value
    if kind == "bool" and isinstance(plain, (bool, int)):
        return bool(plain)
    if kind == "int" and isinstance(plain, int) and not isinstance(plain, bool):
        return plain
    if kind == "str" and isinstance(plain, str):
        return plain
    if kind == "list" and isinstance(plain, (list, tuple)):
        return tuple(plain)
    raise ConfigError(
        message(
            f"PassContext config {key!r}",
            found=f"{value!r} of type {type(value).__name__}",
            legal=f"a value of type {'dict' if kind == 'record' else kind}",
        )
    )
