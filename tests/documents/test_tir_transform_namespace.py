"""The namespace of TIR's passes: every name with its signature, and programs before and after.

Each pass has a test of its own in `tests/tir/transform`; here each stands with what it is told and
the shortest program that shows what it says.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tvm
from tvm import tir
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import transform
from tvm.tir.transform import PrimFuncPass, prim_func_pass

pytestmark = pytest.mark.pure
TESTS = Path(__file__).resolve().parents[1] / "tir"

# name -> its parameters and their defaults
NAMES: dict[str, dict[str, Any]] = {
    "Apply": {"ftransform": ...}, "BindTarget": {"target": ...}, "Filter": {"fcond": ...},
    "CommonSubexprElimTIR": {"enable_cse_tir": True, "identify_equiv_terms": False},
    "CompactBufferAllocation": {"is_strict": True}, "HoistIfThenElse": {"variant": None},
    "FP8ComputeLegalize": {"promote_dtype": "float32", "promote_dtype_str": None},
    "InjectPTXLDG32": {"enable_inject_ptx_intrin": True}, "NarrowDataType": {"target_bits": ...},
    "RemoveWeightLayoutRewriteBlock": {"skip_tensor_rewrite": False, "skip_ndarray_rewrite": False},
    "ThreadSync": {"storage_scope": ...}, "VectorizeLoop": {"enable_vectorize": True},
    "VerifyVTCMLimit": {"limit": None},
    "PlanAndUpdateBufferAllocationLocation": {"regions": True}, "FlattenBuffer": {"as_maps": True},
    "LoopPartition": {"folds": False}, "UnrollLoop": {"folds": False},
    **{name: {} for name in (
        "AnnotateDeviceRegions", "AnnotateEntryFunc", "BF16ComputeLegalize", "BF16StorageLegalize",
        "CombineContextCall", "ConvertBlocksToOpaque", "ConvertForLoopsToSerial", "ConvertSSA",
        "DecorateDeviceScope", "DefaultGPUSchedule", "ExtractPrimFuncConstants",
        "FP8StorageLegalize", "ForceNarrowIndexToInt32", "HoistExpression",
        "InferFragment", "InjectDoubleBuffer", "InjectPTXAsyncCopy", "InjectPermutedLayout",
        "InjectRollingBuffer", "InjectSoftwarePipeline", "InjectVirtualThread",
        "InlinePrivateFunctions", "InstrumentBoundCheckers", "InstrumentProfileIntrinsics",
        "LegalizePackedCalls", "LiftThreadBinding", "LowerAsyncDMA",
        "LowerAutoCopy", "LowerCrossThreadReduction", "LowerCustomDatatypes",
        "LowerDeviceKernelLaunch", "LowerDeviceStorageAccessInfo", "LowerInitBlock", "LowerIntrin",
        "LowerMatchBuffer", "LowerOpaqueBlock", "LowerTVMBuiltin", "LowerThreadAllreduce",
        "LowerVtcmAlloc", "LowerWarpMemory", "MakePackedAPI", "MakeUnpackedAPI",
        "ManifestSharedMemoryLocalStage", "MergeSharedMemoryAllocations",
        "PointerValueTypeRewrite", "ReduceBranchingThroughOvercompute", "RemoveAssume",
        "RemoveNoOp", "RemoveStoreUndef", "RenormalizeSplitPattern", "RewriteUnsafeSelect",
        "Simplify", "SkipAssert", "SplitHostDevice", "StorageRewrite", "TransformMmaBufferLayout",
        "UnifyThreadBinding", "UseAssumeToReduceBranches", "VerifyMemory",
    )},
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_signatures(name: str) -> None:
    found = inspect.signature(getattr(transform, name)).parameters
    shown = {p.name: ... if p.default is p.empty else p.default for p in found.values()}
    assert shown == NAMES[name]
    own = [p for p in TESTS.rglob("test_*.py") if f"{name}(" in p.read_text(encoding="utf-8")]
    assert own, f"{name} has no test"


def test_flags() -> None:
    conditionals, lets = transform.HoistedConditionals, transform.HoistedLetBindings
    assert {f.name: f.value for f in conditionals if f.name not in ("Never", "All")} == {
        "IfElseStmt": 1, "IfElseExpr": 2, "BooleanExpression": 4, "UsingBlockVar": 8,
    }  # fmt: skip
    assert (conditionals.Never.value, conditionals.All.value) == (0, 15)
    assert {f.name: f.value for f in lets if f.name not in ("Never", "All")} == {
        "RequiredByConditional": 1, "LetStmt": 2, "LetExpr": 4,
    }  # fmt: skip
    assert (lets.Never.value, lets.All.value) == (0, 7)


# --- programs before ---


@T.prim_func
def blocks(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        for j in range(16):
            with T.block("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + A[vi, vj]


@T.prim_func
def scratch(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
    for i in range(0, 16):
        with T.block():
            T.reads(A[i, 0:16])
            T.writes(C[i, 0:16])
            B = T.alloc_buffer((16, 16))
            for j in range(0, 16):
                B[i, j] = A[i, j] + 1.0
            for j in range(0, 16):
                C[i, j] = B[i, j] + 1.0


@T.prim_func
def matched(A: T.Buffer((16, 16), "float32")):
    for i in range(16):
        with T.block():
            T.reads()
            T.writes(A[i, 0:16])
            row = T.match_buffer(A[i, 0:16], (16,), offset_factor=1)
            row[3] = 1.0


@T.prim_func
def flat_loops(A: T.Buffer((4, 8), "float32"), n: T.int32):
    for i in T.vectorized(4):
        A[i // 8 + i - i // 8, 0] = 0.0
    for j in T.unroll(2):
        A[j, 1] = 2.0
    for k in T.parallel(4):
        if n > 3:
            A[k, 2] = 1.0


@T.prim_func
def noise(A: T.Buffer((8,), "float32"), n: T.int32):
    assert n > 0, "n is positive"
    T.evaluate(0)
    T.evaluate(T.assume(A[0] == 1.0))
    A[1] = T.undef(dtype="float32")
    for i in range(0):
        A[i] = 1.0
    A[2] = A[3]
    for i in range(8):
        A[i] = T.Select(i < 4, A[(i * n + 1) // 2], T.float32(0))


@T.prim_func
def halves(A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "float8_e4m3fn")):
    for i in range(8):
        A[i] = A[i] + A[i]
        B[i] = B[i] * B[i]


@T.prim_func
def wide(A: T.Buffer((T.int64(8),), "float32")):
    for i in T.serial(T.int64(8)):
        A[i] = 1.0


@T.prim_func
def threads(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(32, thread="threadIdx.x"):
            with T.block():
                T.reads(A[b * 32 : b * 32 + 32])
                T.writes(B[b * 32 + t])
                S = T.alloc_buffer((32,), scope="shared")
                S[t] = A[b * 32 + t]
                B[b * 32 + t] = S[31 - t]


@T.prim_func
def siblings(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            A[b * 4 + i] = 0.0
        for j in T.thread_binding(4, thread="threadIdx.x"):
            B[b * 4 + j] = 1.0


@T.prim_func
def divided(A: T.Buffer((64,), "int32")):
    for i in range(60):
        A[i] = i // 3


@T.prim_func
def packed(n: T.int32):
    T.evaluate(T.call_packed("f", "text", n))


@T.prim_func
def repeated(A: T.Buffer((8,), "int32"), x: T.int32, y: T.int32):
    A[0] = (x * y + 7) * 3
    A[1] = (x * y + 7) * 5


def text(func: tir.PrimFunc, *passes: Any) -> str:
    mod = IRModule({"main": func.with_attr("global_symbol", "main")})
    for one in passes:
        mod = one(mod)
    return "\n".join(str(f) for f in mod.functions.values())


t = transform
OPAQUE = (t.LowerInitBlock(), t.PlanAndUpdateBufferAllocationLocation(), t.ConvertBlocksToOpaque())
FLAT = (*OPAQUE, t.CompactBufferAllocation(), t.LowerOpaqueBlock(), t.FlattenBuffer())
CUDA = t.BindTarget(Target("cuda", host="llvm"))
KERNEL = (
    CUDA, t.LowerInitBlock(), t.PlanAndUpdateBufferAllocationLocation(), t.ConvertBlocksToOpaque(),
    t.CompactBufferAllocation(), t.UnifyThreadBinding(), t.LowerOpaqueBlock(), t.FlattenBuffer(),
)  # fmt: skip

# the program, the passes before, the pass, what of its text goes, what comes
CASES: dict[str, tuple[Any, tuple[Any, ...], Any, str, str]] = {
    "LowerInitBlock": (blocks, (), t.LowerInitBlock(), "T.init()", "if vj == 0:"),
    "ConvertBlocksToOpaque": (
        blocks, OPAQUE[:2], t.ConvertBlocksToOpaque(), "T.axis.remap", "C[i] + A[i, j]"),
    "LowerOpaqueBlock": (blocks, OPAQUE, t.LowerOpaqueBlock(), 'T.block("sum")', "if j == 0:"),
    "FlattenBuffer": (blocks, FLAT[:-1], t.FlattenBuffer(), "A[i, j]", "[i * 16 + j]"),
    "ConvertForLoopsToSerial": (
        blocks, (), t.ConvertForLoopsToSerial(), "T.parallel", "in T.grid(16, 16)"),
    "CompactBufferAllocation": (
        scratch, (), t.CompactBufferAllocation(), "alloc_buffer((16, 16))", "B[i - i, j] ="),
    "LowerMatchBuffer": (matched, (), t.LowerMatchBuffer(), "row[3]", "A[i, 3] ="),
    "Simplify": (flat_loops, (), t.Simplify(), "i // 8", "A[i, 0] ="),
    "VectorizeLoop": (
        flat_loops, (t.FlattenBuffer(),), t.VectorizeLoop(), "T.vectorized", "T.Broadcast("),
    "VectorizeLoop, off": (
        flat_loops, (t.FlattenBuffer(),), t.VectorizeLoop(enable_vectorize=False),
        "T.vectorized", "for i in range(4)"),
    "UnrollLoop": (flat_loops, (), t.UnrollLoop(), "T.unroll", "A[1, 1] ="),
    "HoistIfThenElse": (
        flat_loops, (t.ConvertForLoopsToSerial(),), t.HoistIfThenElse("basic"),
        "        if n > 3:", "    if 3 < n:\n        for k in range(4):"),
    "HoistExpression": (
        flat_loops, (t.ConvertForLoopsToSerial(),), t.HoistExpression(),
        "        if n > 3:", "    if 3 < n:\n        for k in range(4):"),
    "SkipAssert": (noise, (), t.SkipAssert(), "assert", "T.undef"),
    "RemoveAssume": (noise, (), t.RemoveAssume(), "T.assume", "assert n > 0"),
    "RemoveStoreUndef": (noise, (), t.RemoveStoreUndef(), "T.undef", "assert n > 0"),
    "RemoveNoOp": (noise, (), t.RemoveNoOp(), "range(0)", "assert n > 0"),
    "RewriteUnsafeSelect": (
        noise, (), t.RewriteUnsafeSelect(), "T.Select(i", "T.if_then_else(i < 4"),
    "LowerIntrin": (
        divided, (t.BindTarget(Target("llvm")),), t.LowerIntrin(), "i // 3", "T.Div(i, 3)"),
    "BF16ComputeLegalize": (
        halves, (CUDA,), t.BF16ComputeLegalize(), "A[i] + A[i]",
        'T.Cast("uint32", T.reinterpret("uint16", A[i]))'),
    "FP8ComputeLegalize": (
        halves, (), t.FP8ComputeLegalize(promote_dtype_str="float16"), "B[i] * B[i]",
        'T.Cast("float16", B[i])'),
    "NarrowDataType": (wide, (t.FlattenBuffer(),), t.NarrowDataType(32), "T.int64(8))", "range(8)"),
    "ForceNarrowIndexToInt32": (
        wide, (), t.ForceNarrowIndexToInt32(), "T.int64", "range(8)"),
    "LegalizePackedCalls": (
        packed, (), t.LegalizePackedCalls(), '"f", "text"', 'stack_alloca("tvm_ffi_any", 1)'),
    "LowerTVMBuiltin": (packed, (), t.LowerTVMBuiltin(), "T.call_packed(", "call_packed_lowered"),
    "MakePackedAPI": (
        repeated, (t.BindTarget(Target("llvm", host="llvm")),), t.MakePackedAPI(),
        'A: T.Buffer((8,), "int32")', "num_args"),
    "MakeUnpackedAPI": (
        repeated, (t.BindTarget(Target("llvm", host="llvm")),), t.MakeUnpackedAPI(),
        'A: T.Buffer((8,), "int32")', "return 0"),
    "CommonSubexprElimTIR": (
        repeated, (), t.CommonSubexprElimTIR(), "(x * y + 7) * 3", "cse_v1: T.int32 = x * y + 7"),
    "UnifyThreadBinding": (
        siblings, (), t.UnifyThreadBinding(), "for j in",
        "B[blockIdx_x * 4 + threadIdx_x]"),
    "ThreadSync": (
        threads, KERNEL, t.ThreadSync("shared"), "no barrier", 'T.tvm_storage_sync("shared")'),
    "AnnotateDeviceRegions": (
        threads, KERNEL, t.AnnotateDeviceRegions(), "no region", '"target", 0)'),
    "SplitHostDevice": (
        threads, (*KERNEL, t.AnnotateDeviceRegions()), t.SplitHostDevice(), "no kernel",
        "main_kernel"),
    "DecorateDeviceScope": (
        repeated, (), t.DecorateDeviceScope(), "no scope", '"device_scope", 0)'),
    "AnnotateEntryFunc": (
        repeated, (), t.AnnotateEntryFunc(), "no entry", '"tir.is_entry_func": True'),
    "BindTarget": (repeated, (), CUDA, "no target", '"kind": "cuda"'),
    "InstrumentProfileIntrinsics": (
        blocks, FLAT, t.InstrumentProfileIntrinsics(), "no marks", "start_profile_intrinsic("),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_before_and_after(case: str) -> None:
    func, first, one, gone, come = CASES[case]
    before, after = text(func, *first), text(func, *first, one)
    if not gone.startswith("no "):
        assert gone in before, before
    assert gone not in after, after
    assert come in after, after
    assert before != after


def test_common_terms_may_be_left() -> None:
    assert text(repeated, t.CommonSubexprElimTIR(False)) == text(repeated)
    same = text(repeated, t.CommonSubexprElimTIR(identify_equiv_terms=True))
    assert "cse_v1" in same


def test_memory_is_verified() -> None:
    with pytest.raises(TVMError, match="Did you forget to bind"):
        text(repeated, CUDA, t.VerifyMemory())
    assert text(threads, *KERNEL, t.VerifyMemory()) == text(threads, *KERNEL)


def test_gpu_schedules_by_default() -> None:
    with Target("cuda"):
        made = text(blocks, t.ConvertForLoopsToSerial(), t.DefaultGPUSchedule())
    assert 'thread="threadIdx.x"' in made
    assert 'thread="blockIdx.x"' in made


# --- passes of one's own, in each form ---


def module() -> IRModule:
    return IRModule({"one": repeated, "two": packed})


def test_a_function_is_decorated() -> None:
    @tvm.tir.transform.prim_func_pass(opt_level=2)
    def mark(func: tir.PrimFunc, mod: IRModule, ctx: Any) -> tir.PrimFunc:
        return func.with_attr("mark", len(mod.functions))

    assert isinstance(mark, PrimFuncPass)
    assert isinstance(mark, transform.FunctionPass)
    assert isinstance(mark, mark.FunctionPass)
    assert (mark.info.name, mark.info.opt_level, mark.info.required) == ("mark", 2, [])
    out = mark(module())
    assert [f.attrs["mark"] for f in out.functions.values()] == [2, 2]


def test_a_class_is_decorated() -> None:
    @tvm.tir.transform.prim_func_pass(opt_level=1)
    class Replace:
        def __init__(self, new_func: tir.PrimFunc) -> None:
            self.new_func = new_func

        def transform_function(self, func: Any, mod: Any, ctx: Any) -> tir.PrimFunc:
            return self.new_func

    made: Any = Replace(packed)
    assert isinstance(made, PrimFuncPass)
    assert (made.info.name, made.info.opt_level) == ("Replace", 1)
    assert made(module())["one"] is packed


def test_a_function_is_given() -> None:
    def keep(func: tir.PrimFunc, mod: IRModule, ctx: Any) -> tir.PrimFunc:
        return func

    made = prim_func_pass(keep, opt_level=3, name="kept", required=["tir.Simplify"], traceable=True)
    info = made.info
    assert (info.name, info.opt_level, info.required, info.traceable) == (
        "kept", 3, ["tir.Simplify"], True,
    )  # fmt: skip
    with tvm.transform.PassContext(opt_level=3):
        out = tvm.transform.Sequential([made])(IRModule({"f": flat_loops}))
    assert "i // 8" not in str(out["f"])  # what it requires ran before


def test_apply_and_filter() -> None:
    rule: Callable[[tir.PrimFunc], tir.PrimFunc] = lambda func: func.with_attr("seen", 1)
    assert transform.Apply(rule)(module())["one"].attrs["seen"] == 1
    left = transform.Filter(lambda func: len(func.params) == 1)(module())
    assert [v.name_hint for v in left.functions] == ["two"]
