"""LLVM intrinsics that every target can lower, natively or through a library call."""

from __future__ import annotations

from typing import Final

# Prefixes, as the names go on with types: llvm.fma.v16f32. From LLVM's language reference:
# the intrinsics without a target name in them.
SAFE_INTRINSICS: Final[tuple[str, ...]] = (
    "llvm.abs.", "llvm.assume", "llvm.bitreverse.", "llvm.bswap.", "llvm.ceil.", "llvm.copysign.",
    "llvm.cos.", "llvm.ctlz.", "llvm.ctpop.", "llvm.cttz.", "llvm.dbg.", "llvm.exp.",
    "llvm.exp10.", "llvm.exp2.", "llvm.expect.", "llvm.fabs.", "llvm.floor.", "llvm.fma.",
    "llvm.fmuladd.", "llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.fshl.", "llvm.fshr.",
    "llvm.is.fpclass.", "llvm.ldexp.", "llvm.lifetime.", "llvm.log.", "llvm.log10.", "llvm.log2.",
    "llvm.masked.", "llvm.maximum.", "llvm.maxnum.", "llvm.memcpy.", "llvm.memmove.",
    "llvm.memset.", "llvm.minimum.", "llvm.minnum.", "llvm.nearbyint.", "llvm.pow.", "llvm.powi.",
    "llvm.prefetch", "llvm.readcyclecounter", "llvm.rint.", "llvm.round.", "llvm.roundeven.",
    "llvm.sadd.", "llvm.sin.", "llvm.smax.", "llvm.smin.", "llvm.smul.", "llvm.sqrt.",
    "llvm.ssub.", "llvm.stackrestore", "llvm.stacksave", "llvm.trap", "llvm.trunc.",
    "llvm.uadd.", "llvm.umax.", "llvm.umin.", "llvm.umul.", "llvm.usub.",
    "llvm.vector.", "llvm.loop",
    # these the thread pool uses, each on its own architecture, where every CPU has them
    "llvm.aarch64.hint", "llvm.x86.sse2.pause",
)  # fmt: skip

# Generic intrinsics whose name ends with the type of the (first) operand; scripts may leave it out.
ONE_TYPE_INTRINSICS: Final[frozenset[str]] = frozenset(
    "llvm." + name
    for name in (
        "abs", "bitreverse", "bswap", "ceil", "copysign", "cos", "ctlz", "ctpop", "cttz", "exp",
        "exp2", "fabs", "floor", "fma", "fmuladd", "fshl", "fshr", "log", "log10", "log2",
        "maximum", "maxnum", "minimum", "minnum", "nearbyint", "pow", "rint", "round",
        "roundeven", "sadd.sat", "sin", "smax", "smin", "sqrt", "ssub.sat", "trunc", "uadd.sat",
        "umax", "umin", "usub.sat",
    )
)  # fmt: skip
