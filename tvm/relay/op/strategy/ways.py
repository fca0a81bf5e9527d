"""What the ways of an operator are called on a target, and their levels.

    nn.dense for llvm      ->      dense_nopack.x86 at 5, dense_pack.x86 at 10

A table names them by the first of a target's keys that it knows; where extents, layouts or types
decide, a function does. All ways of an operator mean the same here: names are what logs and
records of other machines are looked up by.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Final

from tvm.relay.op.declare import COMM_REDUCE, INJECTIVE
from tvm.target.arm_profile import m_profile_features

Ways = list[tuple[str, int]]
Inputs = Sequence[Any]

BEST: Final = 10
SECOND: Final = 5


def _key(target: Any, known: Container[str]) -> str:
    """The first of a target's keys among the known ones; "" for none."""
    return next((str(key) for key in getattr(target, "keys", ()) if str(key) in known), "")


def _suffixes(**suffixes: str) -> Mapping[str, str]:
    return suffixes


_GPU: Final = _suffixes(gpu="cuda")
_SORTING: Final = _suffixes(rocm="rocm", gpu="cuda")
_CPU: Final = _suffixes(cpu="x86")
_SOFTMAX: Final = _suffixes(hexagon="hexagon", cpu="x86", rocm="rocm", gpu="cuda")
_SCHEDULED: Final = _suffixes(
    hexagon="hexagon", arm_cpu="arm_cpu", cpu="cpu", adreno="adreno", cuda="cuda", gpu="gpu"
)
SUFFIXES: Final[Mapping[str, Mapping[str, str]]] = {
    **dict.fromkeys(("sort", "argsort", "topk", "scatter_elements"), _SORTING),
    **dict.fromkeys(
        (
            "cumsum", "cumprod", "argwhere", "unique", "layout_transform", "searchsorted",
            "invert_permutation", "nn.conv1d_transpose",
        ), _GPU,
    ),
    "scatter_nd": _suffixes(cpu="x86", gpu="cuda"),
    "nn.softmax": _SOFTMAX,
    "nn.log_softmax": _suffixes(cpu="x86", rocm="rocm", gpu="cuda"),
    "nn.fast_softmax": _suffixes(hexagon="hexagon", cpu="x86", gpu="cuda"),
    "nn.batch_norm": _suffixes(cpu="cpu"),
    "nn.lrn": _suffixes(cuda="cuda", gpu="gpu"),
    "nn.pad": _suffixes(hexagon="hexagon"),
    "transpose": _suffixes(cuda="cuda", rocm="rocm", gpu="gpu"),
    "nn.conv1d": _suffixes(arm_cpu="generic", cpu="x86", gpu="cuda"),
    "nn.conv3d": _suffixes(cpu="x86", gpu="cuda"),
    "nn.conv3d_transpose": _suffixes(cpu="x86", gpu="cuda"),
    "nn.conv2d_transpose": _suffixes(
        hexagon="generic", arm_cpu="arm_cpu", cpu="x86", adreno="image2d", gpu="cuda"
    ),
}  # fmt: skip
"""By operator: a target's key -> the end of the name; `generic` where no key is listed."""
_INJECTIVE: Final = ("one_hot",)  # scheduled as operators of each element, fused as others
_POOLS: Final = ("max_pool", "avg_pool", "adaptive_max_pool", "adaptive_avg_pool")


def ways_of(op: Any, attrs: Any, inputs: Inputs, target: Any) -> Ways | None:
    """The ways of an operator for operands, best or not; None for those that have no table."""
    rule = _RULES.get(op.name)
    if rule is not None:
        return rule(attrs, inputs, target)
    short = op.name.rpartition(".")[2]
    if op.name in SUFFIXES:
        known = SUFFIXES[op.name]
        return [(f"{short}.{known.get(_key(target, known), 'generic')}", BEST)]
    if op.name in _INJECTIVE:
        return [(group_way(INJECTIVE, target), BEST)]
    if short.startswith("global_") or short.startswith("adaptive_"):
        known = {key: end for key, end in _SCHEDULED.items() if key != "arm_cpu"}
        return [(f"adaptive_pool.{known.get(_key(target, known), 'generic')}", BEST)]
    if op.name.startswith("nn.") and short.startswith(_POOLS):
        return [(f"pool.{_SCHEDULED.get(_key(target, _SCHEDULED), 'generic')}", BEST)]
    return None


def group_way(pattern: int, target: Any) -> str:
    """The way of operators that are told by their pattern alone."""
    group = "injective" if pattern <= INJECTIVE else "reduce"
    assert pattern <= COMM_REDUCE, "others have names of their own"
    return f"{group}.{_SCHEDULED.get(_key(target, _SCHEDULED), 'generic')}"


def _extent(tensor: Any, axis: int) -> int:
    return int(getattr(tensor.shape[axis], "value", 0))  # 0: not known yet


def _kind(target: Any) -> str:
    return str(getattr(target.kind, "name", target.kind))


def _text(target: Any, name: str) -> str:
    attrs = target.attrs
    return str(attrs.get(name, "") or "") if hasattr(attrs, "get") else ""


def _on_arm64(target: Any) -> bool:
    return _text(target, "mtriple").startswith(("aarch64", "arm64"))


def _has(target: Any, feature: str) -> bool:
    found = target.attrs.get("mattr", ()) if hasattr(target.attrs, "get") else ()
    return f"+{feature}" in {str(name) for name in found or ()}


def _has_dsp(target: Any) -> bool:
    return m_profile_features(target.attrs)["has_dsp"]


def _is_int8(tensors: Inputs) -> bool:
    return all(str(tensor.dtype) in ("int8", "uint8") for tensor in tensors)


def _dense(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    key = _key(target, ("hexagon", "arm_cpu", "cpu", "mali", "bifrost", "rocm", "gpu"))
    int8 = _is_int8(inputs[:2]) and str(attrs.out_dtype) == "int32"
    if key == "arm_cpu" and str(inputs[0].dtype) in ("int8", "int16") and _has_dsp(target):
        return [("dense_dsp.arm_cpu", BEST)]
    if key in ("arm_cpu", "cpu"):
        return [("dense_nopack.x86", SECOND), ("dense_pack.x86", BEST)]
    if key in ("hexagon", "mali", "bifrost"):
        return [(f"dense.{key}", BEST)]
    if int8 and _kind(target) in ("cuda", "rocm", "vulkan"):
        return [("dense_int8.cuda", BEST)]
    if key == "rocm":
        return [("dense_large_batch.gpu", SECOND)]
    if key == "gpu":
        large: Ways = [("dense_large_batch.gpu", SECOND)] if _extent(inputs[0], 0) >= 32 else []
        return [("dense_small_batch.gpu", BEST), *large]
    return [("dense.generic", BEST)]


def _matmul(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    return [("matmul_default.gpu" if _key(target, ("gpu",)) else "matmul.generic", BEST)]


def _batch_matmul(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    known = _suffixes(hexagon="hexagon", cpu="x86", gpu="cuda")
    key = _key(target, known)
    if key == "gpu" and _is_int8(inputs[:2]):
        return [("batch_matmul_int8.cuda", BEST)]
    return [(f"batch_matmul.{known.get(key, 'generic')}", BEST)]


def _conv1d(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    end = SUFFIXES["nn.conv1d"].get(_key(target, SUFFIXES["nn.conv1d"]), "generic")
    grouped = int(attrs.groups) > 1 and end != "generic"
    name = f"conv1d_{str(attrs.data_layout).lower()}.{end}"
    return [(f"group_{name}" if grouped else name, BEST)]


def _conv3d(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    layout = str(attrs.data_layout)
    end = SUFFIXES["nn.conv3d"].get(_key(target, SUFFIXES["nn.conv3d"]), "generic")
    found = [(f"conv3d_{layout.lower()}.{end}", BEST)]
    spatial = [_extent(inputs[1], str(attrs.kernel_layout).index(axis)) for axis in "HW"]
    if end == "cuda" and layout == "NCDHW" and _winograd(attrs, spatial, most=7):
        found.append(("conv3d_ncdhw_winograd.cuda", SECOND))
    return found


def _conv_transpose(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    """The layout is part of the name."""
    count = len(inputs[0].shape) - 2
    known = SUFFIXES[f"nn.conv{count}d_transpose"]
    key, layout = _key(target, known), str(attrs.data_layout).lower()
    if key == "adreno":
        layout += "c"
    # records of that target know the word by its first spelling
    stem = "conv2d_tranpose" if key == "arm_cpu" and count == 2 else f"conv{count}d_transpose"
    return [(f"{stem}_{layout}.{known.get(key, 'generic')}", BEST)]


def _roi_align(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    key = _key(target, ("cpu", "gpu"))
    if key == "gpu":
        return [(f"roi_align_{str(attrs.layout).lower()}.cuda", BEST)]
    return [("roi_align.x86" if key else "roi_align.generic", BEST)]


def _dilation2d(attrs: Any, inputs: Inputs, target: Any) -> Ways:
    return [(f"dilation2d_{str(attrs.data_layout).lower()}.generic", BEST)]


def _winograd(attrs: Any, kernel: Sequence[int], most: int) -> bool:
    """Whether products can be saved: square windows, one step at a time."""
    plain = all(int(step) == 1 for step in (*attrs.strides, *attrs.dilation))
    return plain and len(set(kernel)) == 1 and 3 <= kernel[0] <= most


class _Conv2d:
    """The facts of a convolution that its ways are chosen by."""

    def __init__(self, attrs: Any, inputs: Inputs, target: Any) -> None:
        data, weight = inputs[:2]
        self.attrs, self.target = attrs, target
        self.layout = str(attrs.data_layout)
        self.dtype = str(data.dtype)
        self.int8 = _is_int8(inputs[:2])
        letters = str(attrs.kernel_layout)
        self.window = [_extent(weight, letters.index(axis)) for axis in "HW"]
        self.channels = _extent(data, self.layout.index("C"))
        self.filters = _extent(weight, letters.index("O"))
        self.groups = int(attrs.groups)
        self.depthwise = self.channels == self.filters == self.groups > 1
        plain = "depthwise_conv2d" if self.depthwise else "group_conv2d"
        self.name = f"{'conv2d' if self.groups == 1 else plain}_{self.layout.lower()}"

    def winograd(self, name: str, most: int) -> Ways:
        return [(name, SECOND)] if _winograd(self.attrs, self.window, most) else []


def _conv2d(attrs: Any, inputs: Inputs, target: Any) -> Ways | None:
    if not {*str(attrs.data_layout)} <= {*"NCHW"} or not {*str(attrs.kernel_layout)} <= {*"OIHW"}:
        return None  # channels in blocks: an operator of its own
    key = _key(target, _CONV2D)
    facts = _Conv2d(attrs, inputs, target)
    if facts.groups == 1 and facts.layout == "HWCN":
        return [(f"conv2d_hwcn.{'cuda' if _key(target, ('gpu',)) else 'generic'}", BEST)]
    return _CONV2D[key](facts) if key else [(f"{facts.name}.generic", BEST)]


def _on_x86(conv: _Conv2d) -> Ways:
    dilated = any(int(step) != 1 for step in conv.attrs.dilation)
    own = conv.layout == "NCHW" or conv.groups == 1
    if conv.depthwise and dilated:
        own = False
    return [(f"{conv.name}.{'x86' if own else 'generic'}", BEST)]


def _on_arm(conv: _Conv2d) -> Ways:
    wide = _on_arm64(conv.target)
    if conv.groups > 1 and conv.layout == "NCHW":
        more = _on_x86(conv) if conv.depthwise else []
        return [(f"{conv.name}.arm_cpu", BEST), *(way for way in more if "x86" in way[0])]
    if conv.groups > 1:
        if conv.depthwise and wide:
            return [(f"{conv.name}.arm_cpu", BEST)]
        if conv.depthwise and conv.dtype in ("int8", "int16") and _has_dsp(conv.target):
            return [(f"{conv.name}_dsp.arm_cpu", BEST)]
        return [(f"{conv.name}.generic", BEST)]
    if conv.layout == "NCHW":
        if conv.int8 and wide and conv.channels >= 64:
            return [("conv2d_nchw_int8.arm_cpu", 15)]
        found: Ways = [("conv2d_nchw_spatial_pack.arm_cpu", BEST), ("conv2d_nchw.x86", BEST)]
        floats = conv.dtype.startswith("float")
        return found + (conv.winograd("conv2d_nchw_winograd.arm_cpu", 3) if floats else [])
    packed: Ways = [("conv2d_nhwc_spatial_pack.arm_cpu", SECOND)]
    if wide and conv.int8:
        kind = "native" if _has(conv.target, "dotprod") else "interleaved"
        return [(f"conv2d_NHWC_quantized_{kind}.arm_cpu", BEST)]
    if wide and conv.dtype.startswith("float"):
        vectors: Ways = []
        if _has(conv.target, "sve"):
            vectors.append(("conv2d_NHWC_hybrid_SVE.arm_cpu", SECOND))
        return [*vectors, ("conv2d_NHWC_hybrid.arm_cpu", BEST), *packed]
    return packed


def _on_gpu(conv: _Conv2d) -> Ways:
    if conv.groups > 1:
        return [(f"{conv.name}.cuda", BEST)]
    if conv.layout == "NHWC":
        return [("conv2d_nhwc.gpu", BEST), *conv.winograd("conv2d_nhwc_winograd_direct.cuda", 7)]
    bytes_ = conv.int8 and _kind(conv.target) in ("cuda", "rocm", "vulkan")
    name = "conv2d_nchw_int8.cuda" if bytes_ else "conv2d_nchw.cuda"
    return [(name, BEST), *conv.winograd("conv2d_nchw_winograd.cuda", 7)]


def _on_mali(where: str) -> Callable[[_Conv2d], Ways]:
    def rule(conv: _Conv2d) -> Ways:
        if conv.groups > 1:
            name = "depthwise_conv2d_nchw" if where == "bifrost" else conv.name
            return [(f"{name}.{where}", BEST)]
        more = [] if conv.layout == "NHWC" else conv.winograd(f"conv2d_nchw_winograd.{where}", 3)
        return [(f"{conv.name}_spatial_pack.{where}", BEST), *more]

    return rule


def _on_adreno(conv: _Conv2d) -> Ways:
    if conv.groups == 1 and conv.filters < 4:  # a texel holds four
        return [("conv2d_nhwc.gpu" if conv.layout == "NHWC" else "conv2d_nchw.cuda", BEST)]
    blocked = conv.name + ("c" if conv.layout == "NCHW" else "")
    more = conv.winograd(f"{conv.name}_winograd.image2d", 7) if conv.groups == 1 else []
    return [*more, (f"{blocked}.image2d", BEST)]


def _on_intel_graphics(conv: _Conv2d) -> Ways:
    blocks: Ways = [("conv2d_NCHWc.intel_graphics", SECOND)] if conv.groups == 1 else []
    return [(f"{conv.name}.intel_graphics", BEST), *blocks]


_CONV2D: Final[Mapping[str, Callable[[_Conv2d], Ways]]] = {
    "hexagon": lambda conv: [(f"{conv.name}.hexagon", BEST)],
    "arm_cpu": _on_arm,
    "cpu": _on_x86,
    "mali": _on_mali("mali"),
    "bifrost": _on_mali("bifrost"),
    "adreno": _on_adreno,
    "intel_graphics": _on_intel_graphics,
    "gpu": _on_gpu,
}
_RULES: Final[Mapping[str, Callable[[Any, Inputs, Any], Ways | None]]] = {
    "nn.conv1d": _conv1d,
    "nn.conv2d": _conv2d,
    "nn.conv3d": _conv3d,
    "nn.conv1d_transpose": _conv_transpose,
    "nn.conv2d_transpose": _conv_transpose,
    "nn.conv3d_transpose": _conv_transpose,
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _batch_matmul,
    "vision.roi_align": _roi_align,
    "image.dilation2d": _dilation2d,
}
