"""Depthwise convolution."""

from __future__ import annotations

from typing import Any

from .convolution import convolve


def depthwise_conv2d_python_nchw(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """(n, c, h, w), (c, m, kh, kw) -> (n, c * m, oh, ow)"""
    channels, times, *windows = filter_np.shape
    kernel = filter_np.reshape(channels * times, 1, *windows)
    return convolve(input_np, kernel, stride, padding, channels)


def depthwise_conv2d_python_nchwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """(n, c / b, h, w, b), (c / b, m, kh, kw, 1, b) -> (n, c / b, oh, ow, b)"""
    n, chunks, height, width, block = input_np.shape
    x = input_np.transpose(0, 1, 4, 2, 3).reshape(n, chunks * block, height, width)
    out_chunks, times, kh, kw, _, out_block = filter_np.shape
    w = filter_np.transpose(0, 5, 1, 4, 2, 3).reshape(out_chunks * out_block, times, kh, kw)
    y = depthwise_conv2d_python_nchw(x, w, stride, padding)
    shape = (n, y.shape[1] // out_block, out_block, *y.shape[2:])
    return y.reshape(shape).transpose(0, 1, 3, 4, 2)


def depthwise_conv2d_python_nhwc(input_np: Any, filter_np: Any, stride: Any, padding: Any) -> Any:
    """(n, h, w, c), (kh, kw, c, m) -> (n, oh, ow, c * m)"""
    first = depthwise_conv2d_python_nchw(
        input_np.transpose(0, 3, 1, 2), filter_np.transpose(2, 3, 0, 1), stride, padding
    )
    return first.transpose(0, 2, 3, 1)
