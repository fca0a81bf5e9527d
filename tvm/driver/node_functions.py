"""The names under which nodes, their operators and their owners' methods are found.

A home is `module:attribute`, where the attribute may be a method (`tvm.ir:Op.get_attr`, called with
the object first) or a property, which is read. Constructors of nodes need no entry: they are found
by the node's type key (`tir.Add`, `ir.IntImm`).
"""

from __future__ import annotations

from typing import Final

_OPERATORS: Final = {
    "_OpAdd": "add", "_OpSub": "subtract", "_OpMul": "multiply", "_OpDiv": "div",
    "_OpMod": "truncmod", "_OpIndexDiv": "indexdiv", "_OpIndexMod": "indexmod",
    "_OpFloorDiv": "floordiv", "_OpFloorMod": "floormod", "_OpTruncDiv": "truncdiv",
    "_OpTruncMod": "truncmod", "_OpCeilDiv": "ceildiv", "_OpMin": "min_of", "_OpMax": "max_of",
    "_OpEQ": "equal", "_OpNE": "not_equal", "_OpLT": "less", "_OpLE": "less_equal",
    "_OpGT": "greater", "_OpGE": "greater_equal", "_OpAnd": "logical_and", "_OpOr": "logical_or",
    "_OpNot": "logical_not", "_OpNegation": "negative", "_const": "const",
    "left_shift": "shift_left", "right_shift": "shift_right",
    **{name: name for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")},
}  # fmt: skip
_INTRINSICS: Final = (
    "abs", "ceil", "floor", "infinity", "isfinite", "isinf", "isnan", "likely", "max_value",
    "min_value", "nearbyint", "reinterpret", "round", "trunc", "q_multiply_shift",
)  # fmt: skip
_MODULE: Final = {
    "Clone": "clone", "ContainGlobalVar": "__contains__", "FromExpr": "from_expr",
    "GetAttrs": "attrs", "GetGlobalVar": "get_global_var", "GetGlobalVars": "get_global_vars",
    "Lookup": "__getitem__", "Lookup_str": "__getitem__", "Remove": "__delitem__",
    "Update": "update", "UpdateFunction": "update_func", "UpdateGlobalInfo": "update_global_info",
    "WithAttr": "with_attr", "WithAttrs": "with_attrs", "WithoutAttr": "without_attr",
}  # fmt: skip
_PASS_CONTEXT: Final = {
    "GetCurrentPassContext": "current", "EnterPassContext": "__enter__",
    "ExitPassContext": "__exit__", "OverrideInstruments": "override_instruments",
    "ListConfigs": "list_configs",
}  # fmt: skip
_INSTRUMENT: Final = {
    "EnterPassContext": "PassInstrument.enter_pass_ctx",
    "ExitPassContext": "PassInstrument.exit_pass_ctx",
    "RunAfterPass": "PassInstrument.run_after_pass",
    "RunBeforePass": "PassInstrument.run_before_pass",
    "MakePassTimingInstrument": "PassTimingInstrument",
    "RenderTimePassProfiles": "PassTimingInstrument.render",
}
_OP: Final = {
    "OpAddArgument": "add_argument", "OpGetAttr": "get_attr", "OpHasAttr": "has_attr",
    "OpResetAttr": "reset_attr", "OpSetAttr": "set_attr",
    "OpSetAttrsTypeKey": "set_attrs_type_key", "OpSetNumInputs": "set_num_inputs",
    "OpSetSupportLevel": "set_support_level", "GetOp": "get", "ListOpNames": "list_op_names",
}  # fmt: skip
_TARGETS: Final = {
    "TargetCurrent": "current", "TargetEnterScope": "__enter__", "TargetExitScope": "__exit__",
    "TargetExport": "export", "WithHost": "with_host", "ListTargetKinds": "list_kinds",
    "TargetKindGetAttr": "get_kind_attr", "TargetGetDeviceType": "get_target_device_type",
}  # fmt: skip
_INDEX_MAP: Final = {
    "IndexMapMapIndices": "map_indices", "IndexMapMapShape": "map_shape",
    "IndexMapMapTensor": "map_tensor", "IndexMapInverse": "inverse",
    "IndexMapNonSurjectiveInverse": "non_surjective_inverse",
}  # fmt: skip

NODE_FUNCTIONS: Final[dict[str, str]] = {
    **{f"tir.{name}": f"tvm.tir.op.arith:{home}" for name, home in _OPERATORS.items()},
    **{f"tir.{name}": f"tvm.tir:{name}" for name in _INTRINSICS},
    "tir._OpPow": "tvm.tir:pow",
    "tir._OpIfThenElse": "tvm.tir:if_then_else",
    **{f"tir.{name}": f"tvm.tir:IndexMap.{home}" for name, home in _INDEX_MAP.items()},
    "tir.BufferAccessPtr": "tvm.tir:Buffer.access_ptr",
    "tir.BufferGetFlattenedBuffer": "tvm.tir:Buffer.get_flattened_buffer",
    "tir.BufferOffsetOf": "tvm.tir:Buffer.offset_of",
    "tir.BufferVLoad": "tvm.tir:Buffer.vload",
    "tir.BufferVStore": "tvm.tir:Buffer.vstore",
    "tir.TensorIntrinGet": "tvm.tir:TensorIntrin.get",
    "tir.BijectiveLayoutForwardIndex": "tvm.tir:BijectiveLayout.forward_index",
    "tir.BijectiveLayoutBackwardIndex": "tvm.tir:BijectiveLayout.backward_index",
    "tir.BijectiveLayoutForwardShape": "tvm.tir:BijectiveLayout.forward_shape",
    "tir.BijectiveLayoutBackwardShape": "tvm.tir:BijectiveLayout.backward_shape",
    "tir.LayoutIndexOf": "tvm.tir:Layout.index_of",
    "tir.LayoutFactorOf": "tvm.tir:Layout.factor_of",
    "tir.LayoutNdim": "tvm.tir:Layout.__len__",
    "tir.LayoutGetItem": "tvm.tir:Layout.__getitem__",
    "ir.BaseFuncWithAttr": "tvm.ir:BaseFunc.with_attr",
    "ir.BaseFuncWithAttrs": "tvm.ir:BaseFunc.with_attr",
    "ir.BaseFuncWithoutAttr": "tvm.ir:BaseFunc.without_attr",
    "ir.BaseFunc_Attrs": "tvm.ir:BaseFunc.attrs",
    "ir.EnvFuncGet": "tvm.ir:EnvFunc.get",
    "ir.EnvFuncCall": "tvm.ir:EnvFunc.__call__",
    **{f"ir.{name}": f"tvm.ir:Op.{home}" for name, home in _OP.items()},
    **{f"instrument.{name}": f"tvm.ir.instrument:{home}" for name, home in _INSTRUMENT.items()},
    **{f"ir.Module_{name}": f"tvm.ir:IRModule.{home}" for name, home in _MODULE.items()},
    "ir.Range_from_min_extent": "tvm.ir:Range.from_min_extent",
    "node.AsRepr": "builtins:repr",
    "node.GetFirstStructuralMismatch": "tvm.ir.base:get_first_structural_mismatch",
    "node.LoadJSON": "tvm.ir:load_json",
    "node.SaveJSON": "tvm.ir:save_json",
    "node.StructuralHash": "tvm.ir:structural_hash",
    "transform.ApplyPassToFunction": "tvm.ir.transform:ApplyPassToFunction",
    "transform.Info": "tvm.ir.transform:Pass.info",
    "transform.PassContext": "tvm.ir.transform:PassContext",
    "transform.PassInfo": "tvm.ir.transform:PassInfo",
    "transform.PrintIR": "tvm.ir.transform:PrintIR",
    "transform.RunPass": "tvm.ir.transform:Pass.__call__",
    "transform.Sequential": "tvm.ir.transform:Sequential",
    **{f"transform.{name}": f"tvm.ir.transform:PassContext.{home}"
       for name, home in _PASS_CONTEXT.items()},
    "te.CreatePrimFunc": "tvm.te:create_prim_func",
    "te.OpGetOutput": "tvm.te.tensor:Operation.output",
    "te.OpInputTensors": "tvm.te.tensor:Operation.input_tensors",
    "te.OpNumOutputs": "tvm.te.tensor:Operation.num_outputs",
    "te.Placeholder": "tvm.te:placeholder",
    **{f"target.{name}": f"tvm.target:Target.{home}" for name, home in _TARGETS.items()},
    "target.Target": "tvm.target:Target",
    "target.TargetTagAddTag": "tvm.target.tag:register_tag",
    "target.TargetTagListTags": "tvm.target.tag:list_tags",
    **{f"target.build.{kind}": "tvm.tir.build:codegen_build"
       for kind in ("c", "cuda", "hexagon", "llvm", "metal", "nvptx", "opencl", "rocm", "vulkan",
                    "webgpu")},
    "arith.IntGroupBounds_FindBestRange": "tvm.arith:IntGroupBounds.find_best_range",
    "arith.IntGroupBounds_from_range": "tvm.arith:IntGroupBounds.from_range",
    "arith.IntSetIsEverything": "tvm.arith:IntSet.is_everything",
    "arith.IntSetIsNothing": "tvm.arith:IntSet.is_nothing",
    "arith.intset_single_point": "tvm.arith:IntSet.single_point",
    "arith.intset_vector": "tvm.arith:IntSet.vector",
}  # fmt: skip
