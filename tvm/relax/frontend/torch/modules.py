"""Modules of `torch.nn` in a traced graph: their options and parameters, and the operator they are.

A converter takes the call (which knows the parameters as Relax has them), the module, the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder

from . import indexing, linear, normalize, recurrent, resample, slicing
from .attention import multi_head_attention_forward
from .pad import padded
from .registry import convert_module, functions
from .values import Expr, rank, refuse, spread


class ModuleCall:
    """What a module's converter needs of the importer."""

    def __init__(self, bb: BlockBuilder, parameter: Callable[[Any], Expr]) -> None:
        self.bb = bb
        self._parameter = parameter

    def param(self, tensor: Any) -> Any:
        """A parameter or buffer of the module as Relax has it; None for None."""
        return None if tensor is None else self._parameter(tensor)


# class: operator, then attributes of the module, which are options of the operator
_PLAIN: Final = {
    "AdaptiveAvgPool1d": "adaptive_avg_pool1d output_size",
    "AdaptiveAvgPool2d": "adaptive_avg_pool2d output_size",
    "AdaptiveAvgPool3d": "adaptive_avg_pool3d output_size",
    "AdaptiveMaxPool1d": "adaptive_max_pool1d output_size return_indices",
    "AdaptiveMaxPool2d": "adaptive_max_pool2d output_size return_indices",
    "AdaptiveMaxPool3d": "adaptive_max_pool3d output_size return_indices",
    "AlphaDropout": "alpha_dropout",
    "AvgPool1d": "avg_pool1d kernel_size stride padding ceil_mode count_include_pad",
    "AvgPool2d":
        "avg_pool2d kernel_size stride padding ceil_mode count_include_pad divisor_override",
    "AvgPool3d":
        "avg_pool3d kernel_size stride padding ceil_mode count_include_pad divisor_override",
    "CELU": "celu alpha",
    "ChannelShuffle": "channel_shuffle groups",
    "CosineSimilarity": "cosine_similarity dim eps",
    "Dropout": "dropout", "Dropout1d": "dropout", "Dropout2d": "dropout", "Dropout3d": "dropout",
    "ELU": "elu alpha",
    "FeatureAlphaDropout": "feature_alpha_dropout",
    "Flatten": "flatten start_dim end_dim",
    "GELU": "gelu approximate",
    "GLU": "glu dim",
    "Hardshrink": "hardshrink lambd",
    "Hardsigmoid": "hardsigmoid",
    "Hardswish": "hardswish",
    "Hardtanh": "hardtanh min_val max_val",
    "HuberLoss": "huber_loss reduction delta",
    "Identity": "identity",
    "KLDivLoss": "kl_div reduction log_target",
    "L1Loss": "l1_loss reduction",
    "LPPool1d": "lp_pool1d norm_type kernel_size stride ceil_mode",
    "LPPool2d": "lp_pool2d norm_type kernel_size stride ceil_mode",
    "LPPool3d": "lp_pool3d norm_type kernel_size stride ceil_mode",
    "LeakyReLU": "leaky_relu negative_slope",
    "LocalResponseNorm": "local_response_norm size alpha beta k",
    "LogSigmoid": "log_sigmoid",
    "LogSoftmax": "log_softmax dim",
    "MSELoss": "mse_loss reduction",
    "MaxPool1d": "max_pool1d kernel_size stride padding dilation ceil_mode return_indices",
    "MaxPool2d": "max_pool2d kernel_size stride padding dilation ceil_mode return_indices",
    "MaxPool3d": "max_pool3d kernel_size stride padding dilation ceil_mode return_indices",
    "MaxUnpool1d": "max_unpool1d.functional kernel_size stride padding",
    "MaxUnpool2d": "max_unpool2d.functional kernel_size stride padding",
    "MaxUnpool3d": "max_unpool3d.functional kernel_size stride padding",
    "Mish": "mish",
    "PixelShuffle": "pixel_shuffle upscale_factor",
    "PixelUnshuffle": "pixel_unshuffle downscale_factor",
    "RReLU": "rrelu lower upper",
    "ReLU": "relu", "ReLU6": "relu6", "SELU": "selu", "SiLU": "silu", "Sigmoid": "sigmoid",
    "SmoothL1Loss": "smooth_l1_loss reduction beta",
    "SoftMarginLoss": "soft_margin_loss reduction",
    "Softmax": "softmax dim", "Softmin": "softmin dim",
    "Softplus": "softplus beta threshold",
    "Softshrink": "softshrink lambd",
    "Softsign": "softsign",
    "Tanh": "tanh", "Tanhshrink": "tanhshrink",
    "Threshold": "threshold threshold value",
}  # fmt: skip


def _declare_plain() -> None:
    for name, row in _PLAIN.items():
        operator, *options = row.split()

        def apply(
            call: ModuleCall, module: Any, *inputs: Expr,
            operator: str = operator, options: Sequence[str] = tuple(options),
        ) -> Any:  # fmt: skip
            given = {option: getattr(module, option) for option in options}
            return functions()[operator](call.bb, *inputs, **given)

        convert_module(name)(apply)


_declare_plain()


@convert_module("Softmax2d")
def softmax2d(call: ModuleCall, module: Any, input: Expr) -> Expr:
    return op.nn.softmax(input, rank(input) - 3)


@convert_module("PReLU")
def prelu(call: ModuleCall, module: Any, input: Expr) -> Any:
    return functions()["prelu"](call.bb, input, call.param(module.weight))


@convert_module("Linear", "NonDynamicallyQuantizableLinear")
def linear_(call: ModuleCall, module: Any, input: Expr) -> Any:
    return linear.linear(call.bb, input, call.param(module.weight), call.param(module.bias))


@convert_module("Bilinear")
def bilinear(call: ModuleCall, module: Any, input1: Expr, input2: Expr) -> Any:
    weight, bias = call.param(module.weight), call.param(module.bias)
    return linear.bilinear(call.bb, input1, input2, weight, bias)


@convert_module("Conv1d", "Conv2d", "Conv3d")
def conv(call: ModuleCall, module: Any, input: Expr) -> Expr:
    x, padding = input, module.padding
    if module.padding_mode != "zeros":
        mode = {"reflect": "reflect", "replicate": "replicate", "circular": "circular"}
        widths = module._reversed_padding_repeated_twice
        x = call.bb.emit(padded(call.bb, x, widths, mode[module.padding_mode]))
        padding = 0
    return linear.convolve(
        call.bb, x, call.param(module.weight), call.param(module.bias), module.stride, padding,
        module.dilation, module.groups,
    )  # fmt: skip


@convert_module("ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d")
def conv_transpose(
    call: ModuleCall, module: Any, input: Expr, output_size: Any = None
) -> Expr:
    if output_size is not None:
        raise refuse("a transposed convolution", "output_size", "output_padding")
    return linear.convolve_transposed(
        call.bb, input, call.param(module.weight), call.param(module.bias), module.stride,
        module.padding, module.output_padding, module.groups, module.dilation,
    )  # fmt: skip


@convert_module("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")
def batch_norm(call: ModuleCall, module: Any, input: Expr) -> Any:
    momentum = 0.1 if module.momentum is None else module.momentum
    training = module.training or module.running_mean is None
    return normalize.batch_norm(
        call.bb, input, call.param(module.weight), call.param(module.bias),
        call.param(module.running_mean), call.param(module.running_var), training, momentum,
        module.eps,
    )  # fmt: skip


@convert_module("InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d")
def instance_norm(call: ModuleCall, module: Any, input: Expr) -> Any:
    own = module.training or not module.track_running_stats
    return normalize.instance_norm(
        call.bb, input, call.param(module.weight), call.param(module.bias),
        call.param(module.running_mean), call.param(module.running_var), own, module.momentum,
        module.eps,
    )  # fmt: skip


@convert_module("LayerNorm")
def layer_norm(call: ModuleCall, module: Any, input: Expr) -> Any:
    return normalize.layer_norm(
        call.bb, input, module.normalized_shape, call.param(module.weight),
        call.param(module.bias), module.eps,
    )  # fmt: skip


@convert_module("RMSNorm")
def rms_norm(call: ModuleCall, module: Any, input: Expr) -> Any:
    weight = call.param(module.weight)
    return normalize.rms_norm(call.bb, input, module.normalized_shape, weight, module.eps)


@convert_module("GroupNorm")
def group_norm(call: ModuleCall, module: Any, input: Expr) -> Any:
    return normalize.group_norm(
        call.bb, input, module.num_groups, call.param(module.weight), call.param(module.bias),
        module.eps,
    )  # fmt: skip


@convert_module("Embedding")
def embedding(call: ModuleCall, module: Any, input: Expr) -> Any:
    indexing.check_max_norm(module.max_norm)
    return indexing.embedding(call.bb, call.param(module.weight), input)


@convert_module("Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d")
def upsample(call: ModuleCall, module: Any, input: Expr) -> Any:
    return resample.interpolate(
        call.bb, input, module.size, module.scale_factor, module.mode, module.align_corners,
        module.recompute_scale_factor,
    )  # fmt: skip


@convert_module("Unflatten")
def unflatten(call: ModuleCall, module: Any, input: Expr) -> Any:
    return functions()["unflatten"](call.bb, input, module.dim, tuple(module.unflattened_size))


@convert_module("Unfold")
def unfold(call: ModuleCall, module: Any, input: Expr) -> Any:
    return slicing.im2col(
        call.bb, input, module.kernel_size, module.dilation, module.padding, module.stride
    )


@convert_module("Fold")
def fold(call: ModuleCall, module: Any, input: Expr) -> Any:
    return slicing.col2im(
        call.bb, input, module.output_size, module.kernel_size, module.dilation, module.padding,
        module.stride,
    )  # fmt: skip


def _pads(mode: str, n: int) -> Callable[..., Expr]:
    def apply(call: ModuleCall, module: Any, input: Expr) -> Expr:
        value = float(getattr(module, "value", 0.0))
        return padded(call.bb, input, spread(module.padding, 2 * n), mode, value)

    return apply


for _n in (1, 2, 3):
    convert_module(f"ConstantPad{_n}d")(_pads("constant", _n))
    convert_module(f"ZeroPad{_n}d")(_pads("constant", _n))
    convert_module(f"ReflectionPad{_n}d")(_pads("reflect", _n))
    convert_module(f"ReplicationPad{_n}d")(_pads("replicate", _n))
    convert_module(f"CircularPad{_n}d")(_pads("circular", _n))


@convert_module("CrossEntropyLoss")
def cross_entropy_loss(call: ModuleCall, module: Any, input: Expr, target: Expr) -> Any:
    return functions()["cross_entropy"](
        call.bb, input, target, call.param(module.weight), reduction=module.reduction,
        ignore_index=module.ignore_index, label_smoothing=module.label_smoothing,
    )  # fmt: skip


@convert_module("NLLLoss")
def nll_loss(call: ModuleCall, module: Any, input: Expr, target: Expr) -> Any:
    return functions()["nll_loss"](
        call.bb, input, target, call.param(module.weight), reduction=module.reduction,
        ignore_index=module.ignore_index,
    )  # fmt: skip


@convert_module("BCELoss")
def bce_loss(call: ModuleCall, module: Any, input: Expr, target: Expr) -> Any:
    weight = call.param(module.weight)
    rule = functions()["binary_cross_entropy"]
    return rule(call.bb, input, target, weight, module.reduction)


@convert_module("BCEWithLogitsLoss")
def bce_with_logits_loss(call: ModuleCall, module: Any, input: Expr, target: Expr) -> Any:
    return functions()["binary_cross_entropy_with_logits"](
        call.bb, input, target, call.param(module.weight),
        pos_weight=call.param(module.pos_weight), reduction=module.reduction,
    )  # fmt: skip


@convert_module("MultiheadAttention")
def multihead_attention(
    call: ModuleCall, module: Any, query: Expr, key: Expr, value: Expr,
    key_padding_mask: Any = None, need_weights: bool = True, attn_mask: Any = None,
    average_attn_weights: bool = True, is_causal: bool = False,
) -> Any:  # fmt: skip
    swap = module.batch_first and rank(query) == 3

    def turned(x: Expr) -> Expr:
        return call.bb.emit(op.permute_dims(x, [1, 0, 2])) if swap else x

    out = module.out_proj
    made, weights = multi_head_attention_forward(
        call.bb, turned(query), turned(key), turned(value), module.embed_dim, module.num_heads,
        call.param(module.in_proj_weight), call.param(module.in_proj_bias),
        call.param(module.bias_k), call.param(module.bias_v), module.add_zero_attn,
        0.0, call.param(out.weight), call.param(out.bias), False, key_padding_mask, need_weights,
        attn_mask, not module._qkv_same_embed_dim, call.param(module.q_proj_weight),
        call.param(module.k_proj_weight), call.param(module.v_proj_weight), None, None,
        average_attn_weights, is_causal,
    )  # fmt: skip
    return (turned(made) if swap else made), weights


_CELLS: Final = {
    "LSTM": recurrent.lstm_cell_step, "GRU": recurrent.gru_cell_step,
    "RNN_TANH": recurrent.RNN_STEPS["tanh"], "RNN_RELU": recurrent.RNN_STEPS["relu"],
}  # fmt: skip


@convert_module("LSTM", "GRU", "RNN")
def recurrent_layers(call: ModuleCall, module: Any, input: Expr, hx: Any = None) -> Any:
    directions = 2 if module.bidirectional else 1
    lstm, count = module.mode == "LSTM", module.num_layers * directions
    if hx is None:
        widths = [module.proj_size or module.hidden_size]
        widths += [module.hidden_size] if lstm else []
        states = [
            recurrent.zero_states(call.bb, input, count, width, module.batch_first)
            for width in widths
        ]
    else:
        states = list(hx) if lstm else [hx]
    made, *last = recurrent.run_layers(
        call.bb, _CELLS[module.mode], input, states,
        [call.param(weight) for weight in module._flat_weights], module.bias, module.num_layers,
        module.bidirectional, module.batch_first, module.proj_size > 0,
    )  # fmt: skip
    return made, tuple(last) if lstm else last[0]


@convert_module("LSTMCell", "GRUCell", "RNNCell")
def recurrent_cell(call: ModuleCall, module: Any, input: Expr, hx: Any = None) -> Any:
    kind = type(module).__name__.removesuffix("Cell")
    lstm = kind == "LSTM"
    cell = _CELLS[f"RNN_{module.nonlinearity.upper()}" if kind == "RNN" else kind]
    if hx is None:
        zeros = op.zeros([*input.struct_info.shape.values[:-1], module.hidden_size],  # type: ignore[attr-defined]
                         input.struct_info.dtype)  # type: ignore[attr-defined]  # fmt: skip
        hx = [call.bb.emit(zeros)] * 2 if lstm else call.bb.emit(zeros)
    weights = call.param(module.weight_ih), call.param(module.bias_ih)
    x = call.bb.emit(op.linear(input, *weights))
    states = list(hx) if lstm else [hx]
    after = cell(call.bb, x, states, call.param(module.weight_hh), call.param(module.bias_hh))
    return tuple(after) if lstm else after[0]
