"""How TIR intrinsics are declared: one line says name, effect, and what backends may do with it."""

from __future__ import annotations

from tvm.ir.op import Op, declare
from tvm.tir.expr import CallEffectKind

PURE = CallEffectKind.Pure
READS = CallEffectKind.ReadState
OPAQUE = CallEffectKind.Opaque


def intrinsic(
    name: str,
    effect: int,
    num_inputs: int = -1,
    *,
    vectorizable: bool = False,
    script_name: str | None = None,
    dtype_at: str | None = None,
) -> Op:
    """Declare `tir.<name>`.

    `vectorizable`: on vector operands it works lane by lane. `script_name`: its name in TVMScript
    where that differs. `dtype_at`: "first" or "last" when the script call carries the result's
    dtype as its first or last argument.
    """
    op = declare(f"tir.{name}", "", num_inputs, TCallEffectKind=effect)
    op.set_attr("TVectorizable", vectorizable)
    op.set_attr("TScriptPrinterName", script_name or name.replace("tir.", ""))
    if dtype_at is not None:
        op.set_attr("TScriptDtypePrintLocation", dtype_at)
    return op
