"""Layers, in the forms that networks of torch have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from tvm import relax as rx
from tvm import tir
from tvm.error import AssumptionError
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.struct_info import ObjectStructInfo, TensorStructInfo

from . import op
from .core import Effect, Module, ModuleList, Parameter, Tensor, get_default_dtype
from .io_effect import IOEffect

__all__ = [
    "Attention", "Conv1D", "Conv2D", "Conv3D", "ConvTranspose1D", "Embedding", "GELU",
    "GroupNorm", "IOEffect", "Identity", "KVCache", "LayerNorm", "Linear", "RMSNorm", "ReLU",
    "SiLU", "TimestepEmbedding", "Timesteps",
]  # fmt: skip

Extent: TypeAlias = "int | str | tir.PrimExpr"


class ReLU(Module):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        """The elements, 0 where they are negative."""
        return op.relu(x)


class SiLU(Module):
    """x * sigmoid(x)."""

    def forward(self, x: Tensor) -> Tensor:
        """The elements, each times its sigmoid."""
        return op.silu(x)


class GELU(Module):
    """x times the normal distribution's share below it."""

    def forward(self, x: Tensor) -> Tensor:
        """The elements, each times that share."""
        return op.gelu(x)


class Identity(Module):
    """x itself."""

    def forward(self, x: Tensor) -> Tensor:
        """What was given."""
        return x


class Linear(Module):
    """x @ weight^T + bias; weight (out, in), bias (out,). `out_dtype` is that of the product."""

    def __init__(
        self,
        in_features: Extent,
        out_features: Extent,
        bias: bool = True,
        dtype: str | None = None,
        out_dtype: str | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.out_dtype = out_dtype
        self.weight = Parameter((out_features, in_features), dtype)
        self.bias = None
        if bias:
            self.bias = Parameter((out_features,), dtype=dtype if out_dtype is None else out_dtype)

    def forward(self, x: Tensor) -> Tensor:
        """(..., in) -> (..., out)."""
        # a parameter's own dtype is asked, which a change of the module's may have set
        x = op.matmul(x, op.permute_dims(self.weight), out_dtype=self.out_dtype)
        return x if self.bias is None else x + self.bias

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype; the bias has that of the product, if it was set."""
        self.weight.to(dtype=dtype)
        if self.bias is not None and self.out_dtype is None:
            self.bias.to(dtype=dtype)
        if dtype is not None and isinstance(getattr(self, "dtype", None), str):
            self.dtype = dtype


def _sizes(value: int | Sequence[int], count: int) -> list[int]:
    return [value] * count if isinstance(value, int) else list(value)


class _Conv(Module):
    """What convolutions share: numbers, a weight, a bias."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sequence[int],
        weight: Sequence[int],
        stride: Any,
        padding: Any,
        dilation: int,
        groups: int,
        bias: bool,
        dtype: str | None,
    ) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = list(kernel_size) if len(kernel_size) > 1 else kernel_size[0]
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.groups = groups
        self.weight = Parameter((*weight, *kernel_size), dtype)
        self.bias = Parameter((out_channels,), dtype) if bias else None


class Conv1D(_Conv):
    """A convolution; weight (out, in / groups, k)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, [kernel_size], (out_channels, in_channels // groups),
            stride, padding, dilation, groups, bias, dtype,
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        """(n, in, w) -> (n, out, w')."""
        return op.conv1d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv2D(_Conv):
    """A convolution of pictures; weight (out, in / groups, k, k)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: list[int] | int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCHW",
    ) -> None:
        super().__init__(
            in_channels, out_channels, _sizes(kernel_size, 2),
            (out_channels, in_channels // groups),
            stride, padding, dilation, groups, bias, dtype,
        )  # fmt: skip
        self.data_layout = data_layout

    def forward(self, x: Tensor) -> Tensor:
        """(n, in, h, w) -> (n, out, h', w'), or in `data_layout`."""
        return op.conv2d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            self.data_layout,
        )  # fmt: skip


class Conv3D(_Conv):
    """A convolution of volumes; weight (out, in / groups, k, k, k)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: list[int] | int,
        stride: list[int] | int = 1,
        padding: list[int] | int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
        data_layout: str = "NCDHW",
    ) -> None:
        super().__init__(
            in_channels, out_channels, _sizes(kernel_size, 3),
            (out_channels, in_channels // groups),
            _sizes(stride, 3), _sizes(padding, 3), dilation, groups, bias, dtype,
        )  # fmt: skip
        self.data_layout = data_layout

    def forward(self, x: Tensor) -> Tensor:
        """(n, in, d, h, w) -> (n, out, d', h', w'), or in `data_layout`."""
        return op.conv3d(
            x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups,
            self.data_layout,
        )  # fmt: skip


class ConvTranspose1D(_Conv):
    """A transposed convolution; weight (in, out / groups, k)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        output_padding: int = 0,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, [kernel_size], (in_channels, out_channels // groups),
            stride, padding, dilation, groups, bias, dtype,
        )  # fmt: skip
        self.output_padding = output_padding

    def forward(self, x: Tensor) -> Tensor:
        """(n, in, w) -> (n, out, w')."""
        return op.conv1d_transpose(
            x, self.weight, self.bias, self.stride, self.padding, self.output_padding,
            self.dilation, self.groups,
        )  # fmt: skip


class LayerNorm(Module):
    """The last axis with mean 0 and variance 1; with a weight and a bias, if `affine`."""

    def __init__(
        self,
        normalized_shape: int,
        eps: float | None = 1e-5,
        elementwise_affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = normalized_shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.weight = Parameter((normalized_shape,), dtype) if elementwise_affine else None
        self.bias = Parameter((normalized_shape,), dtype) if elementwise_affine else None

    def forward(self, x: Tensor) -> Tensor:
        """A tensor of the shape of x."""
        return op.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps or 1e-5)


class RMSNorm(Module):
    """x over its root mean square along `axes`, times a weight, plus a bias."""

    def __init__(
        self,
        hidden_size: int,
        axes: int | list[int],
        epsilon: float = 1e-5,
        bias: bool = True,
        dtype: str | None = None,
    ) -> None:
        super().__init__()
        self.epsilon = epsilon
        self.axes = axes
        self.weight = Parameter((hidden_size,), dtype)
        self.bias = Parameter((hidden_size,), dtype) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        """A tensor of the shape of x."""
        out = op.rms_norm(x, weight=self.weight, axes=self.axes, epsilon=self.epsilon)
        return out if self.bias is None else op.add(out, self.bias)


class GroupNorm(Module):
    """Each group of channels with mean 0 and variance 1; with a weight and a bias, if `affine`."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: str | None = None,
    ) -> None:
        super().__init__()
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.weight = Parameter((num_channels,), dtype) if affine else None
        self.bias = Parameter((num_channels,), dtype) if affine else None

    def forward(self, x: Tensor, channel_axis: int = 1, axes: list[int] | None = None) -> Tensor:
        """A tensor of the shape of x; statistics are those over `axes` and within a group."""
        return op.group_norm(
            x, self.num_groups, self.weight, self.bias, self.eps, channel_axis, axes
        )


class KVCache(Effect):
    """Keys or values of a sequence, one of `unit_shape` behind the other."""

    init_seq_len: int
    unit_shape: list[int]
    dtype: str
    cache: rx.Var | None

    def __init__(
        self, init_seq_len: int, unit_shape: Sequence[int], dtype: str | None = None
    ) -> None:
        self.init_seq_len = init_seq_len
        self.unit_shape = [int(extent) for extent in unit_shape]
        self.dtype = get_default_dtype() if dtype is None else dtype
        self.cache = None

    def emit_init(self, name_hint: str, bb: BlockBuilder) -> list[rx.Var]:
        """An empty cache with room for `init_seq_len`; it grows."""
        shape = rx.ShapeExpr([self.init_seq_len, *self.unit_shape])
        call = rx.op.call_pure_packed(
            "vm.builtin.attention_kv_cache_create", rx.op.zeros(shape, self.dtype), shape,
            rx.PrimValue(0), sinfo_args=[ObjectStructInfo()],
        )  # fmt: skip
        return [bb.emit(call, name_hint)]

    def create(self, name_hint: str) -> list[rx.Var]:
        """A variable for the cache."""
        self.cache = rx.Var(name_hint, ObjectStructInfo())
        return [self.cache]

    def set_state(self, state_vars: list[rx.Var]) -> None:
        """Take this cache."""
        (self.cache,) = state_vars

    def finalize(self) -> list[rx.Var]:
        """The cache after all that was appended."""
        cache = self._now()
        self.cache = None
        return [cache]

    def to(self, dtype: str | None = None) -> None:
        """Change the dtype of what is kept."""
        if dtype is not None:
            self.dtype = dtype

    def view(self, seq_len: tir.Var) -> Tensor:
        """The first `seq_len` elements: (seq_len, *unit_shape)."""
        shape = rx.ShapeExpr([seq_len, *self.unit_shape])
        call = rx.op.call_pure_packed(
            "vm.builtin.attention_kv_cache_view", self._now(), shape,
            sinfo_args=[TensorStructInfo(shape, self.dtype)],
        )  # fmt: skip
        return Tensor(_expr=_emit(call))

    def append(self, new_element: Tensor) -> None:
        """Put elements behind: (n, *unit_shape)."""
        if new_element.dtype != self.dtype:
            raise TypeError(
                f'KVCache has been set to use dtype "{self.dtype}", but got '
                f'"{new_element.dtype}"'
            )
        cache = self._now()
        call = rx.op.call_inplace_packed(
            "vm.builtin.attention_kv_cache_append", cache, new_element._expr,
            inplace_indices=[0], sinfo_args=[ObjectStructInfo()],
        )  # fmt: skip
        self.cache = _emit(call)

    def _now(self) -> rx.Var:
        if self.cache is None:
            raise RuntimeError("KVCache: used outside of a function that is being exported")
        return self.cache


def _emit(expr: rx.Expr, name: str = "") -> rx.Var:
    builder = BlockBuilder.current()
    assert builder is not None, "effects are used within an export"
    return builder.emit(expr, name)


class Embedding(Module):
    """Rows of a table: weight (num, dim)."""

    def __init__(self, num: Extent, dim: Extent, dtype: str | None = None) -> None:
        self.num = num
        self.dim = dim
        self.weight = Parameter((num, dim), dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Indices of any shape -> that shape and `dim`."""
        if x.ndim == 1:
            return op.take(self.weight, x, axis=0)
        rows = op.take(self.weight, op.reshape(x, shape=[-1]), axis=0)
        return op.reshape(rows, shape=[*x.shape, self.weight.shape[1]])


class TimestepEmbedding(Module):
    """Two dense layers with an activation between, as in diffusion models."""

    def __init__(
        self,
        in_channels: int,
        time_embed_dim: int,
        act_fn: str = "silu",
        out_dim: int | None = None,
        post_act_fn: str | None = None,
        cond_proj_dim: int | None = None,
    ) -> None:
        self.linear_1 = Linear(in_channels, time_embed_dim)
        self.cond_proj = None
        if cond_proj_dim is not None:
            self.cond_proj = Linear(cond_proj_dim, in_channels, bias=False)
        if act_fn != "silu":
            raise AssumptionError(f"TimestepEmbedding: act_fn {act_fn!r}; legal: 'silu'")
        if post_act_fn not in (None, "silu"):
            raise ValueError(f"TimestepEmbedding: post_act_fn {post_act_fn!r}; legal: 'silu'")
        self.act = SiLU()
        self.linear_2 = Linear(time_embed_dim, time_embed_dim if out_dim is None else out_dim)
        self.post_act = None if post_act_fn is None else SiLU()

    def forward(self, sample: Tensor, condition: Tensor | None = None) -> Tensor:
        """(n, in_channels) -> (n, out_dim)."""
        if condition is not None:
            if self.cond_proj is None:
                raise ValueError("TimestepEmbedding: a condition needs cond_proj_dim")
            sample = sample + self.cond_proj(condition)
        sample = self.linear_2(self.act(self.linear_1(sample)))
        out: Tensor = sample if self.post_act is None else self.post_act(sample)
        return out


class Timesteps(Module):
    """Times as sines and cosines of many frequencies."""

    def __init__(
        self, num_channels: int, flip_sin_to_cos: bool = False, downscale_freq_shift: float = 1
    ) -> None:
        self.num_channels = num_channels
        self.flip_sin_to_cos = flip_sin_to_cos
        self.downscale_freq_shift = downscale_freq_shift

    def forward(self, x: Tensor) -> Tensor:
        """(n,) -> (n, num_channels)."""
        return op.get_timestep_embedding(
            x,
            embedding_dim=self.num_channels,
            flip_sin_to_cos=self.flip_sin_to_cos,
            downscale_freq_shift=self.downscale_freq_shift,
        )


class Attention(Module):
    """Attention of diffusion models: of hidden states to themselves, or to encoder states."""

    def __init__(
        self,
        query_dim: int,
        cross_attention_dim: int | None = None,
        heads: int = 8,
        dim_head: int = 64,
        bias: bool = False,
        norm_num_groups: int | None = None,
        out_bias: bool = True,
        scale_qk: bool = True,
    ) -> None:
        self.query_dim = query_dim
        self.cross_attention_dim = cross_attention_dim or query_dim
        self.heads = heads
        self.dim_head = dim_head
        self.bias = bias
        self.norm_num_groups = norm_num_groups
        self.out_bias = out_bias
        self.scale_qk = scale_qk
        self.scale = dim_head**-0.5 if scale_qk else 1.0
        self.inner_dim = dim_head * heads
        self.to_q = Linear(self.query_dim, self.inner_dim, bias=bias)
        self.to_k = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.to_v = Linear(self.cross_attention_dim, self.inner_dim, bias=bias)
        self.group_norm = None
        if norm_num_groups is not None:
            self.group_norm = GroupNorm(
                num_channels=query_dim, num_groups=norm_num_groups, affine=True
            )
        self.to_out = ModuleList([Linear(self.inner_dim, self.query_dim, bias=out_bias)])

    def forward(
        self,
        hidden_states: Tensor,
        encoder_hidden_states: Tensor | None = None,
        attention_mask: Tensor | None = None,
        **cross_attention_kwargs: Any,
    ) -> Tensor:
        """(n, sequence, query_dim) -> the same shape."""
        if self.group_norm is not None:
            hidden_states = self.group_norm(hidden_states, channel_axis=2, axes=[1])
        query = self.to_q(hidden_states)
        states = hidden_states if encoder_hidden_states is None else encoder_hidden_states
        key, value = self.to_k(states), self.to_v(states)
        head_dim = self.inner_dim // self.heads
        query, key, value = (
            op.reshape(x, [0, -1, self.heads, head_dim]) for x in (query, key, value)
        )
        scale = None if self.scale_qk else 1.0
        out = op.scaled_dot_product_attention(
            query, key, value, attn_mask=attention_mask, is_causal=False, scale=scale
        )
        out = op.reshape(out, [0, -1, self.inner_dim])
        result: Tensor = self.to_out[0](out)
        return result
