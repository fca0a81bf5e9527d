"""Code generators that users write, and what `tvm.build` makes of what they give."""

from __future__ import annotations

from tvm.support.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        name: f"{__name__}.build_module:{name}"
        for name in ("CodeGenBase", "find_codegen", "register_codegen")
    },
)
