"""What is quantized, to how many bits, and how scales are found; and what is known on the way."""

from __future__ import annotations

from typing import Any, Final

from typing_extensions import Self

from tvm.ffi.object import Object
from tvm.relay.expr import Call


class QAnnotateKind:
    """What an operand is to the call that takes it."""

    IDENTITY = 0
    INPUT = 1
    WEIGHT = 2
    ACTIVATION = 3


_NAMES: Final = {
    QAnnotateKind.INPUT: "input",
    QAnnotateKind.WEIGHT: "weight",
    QAnnotateKind.ACTIVATION: "activation",
    QAnnotateKind.IDENTITY: "identity",
}


def kind2str(kind: int) -> str:
    """The name of a kind."""
    assert kind in _NAMES, f"kind {kind}; legal: {_NAMES}"
    return _NAMES[kind]


_DEFAULTS: Final[dict[str, Any]] = {
    "nbit_input": 8, "nbit_weight": 8, "nbit_activation": 32,
    "dtype_input": "int8", "dtype_weight": "int8", "dtype_activation": "int32",
    "calibrate_mode": "global_scale", "global_scale": 8.0, "weight_scale": "power2",
    "skip_dense_layer": True, "skip_conv_layers": [0], "do_simulation": False,
    "round_for_shift": True, "debug_enabled_ops": None, "rounding": "UPWARD",
    "calibrate_chunk_by": -1, "partition_conversions": "disabled",
}  # fmt: skip


class QConfig(Object):
    """The choices, each an attribute; `with` makes them the current ones."""

    def __init__(self, **options: Any) -> None:
        unknown = sorted(set(options) - set(_DEFAULTS))
        if unknown:
            raise TypeError(f"QConfig: no option {unknown[0]!r}; legal: {', '.join(_DEFAULTS)}")
        vars(self).update({**_DEFAULTS, **options})

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"QConfig has no attribute {name!r}; legal: {', '.join(_DEFAULTS)}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"'{type(self)}' object cannot set attribute '{name}'")

    def guard(self, ref_call: Call) -> bool:
        """Whether a call is among those that `debug_enabled_ops` names; without names, all are."""
        names = self.debug_enabled_ops
        return names is None or getattr(ref_call.op, "name", "") in names

    def get_nbit_by_kind(self, kind: int) -> int:
        """How many bits an operand of a kind has."""
        return int(getattr(self, f"nbit_{kind2str(kind)}"))

    def get_dtype_by_kind(self, kind: int) -> str:
        """The data type of an operand of a kind."""
        return str(getattr(self, f"dtype_{kind2str(kind)}"))

    def __enter__(self) -> Self:
        _STACK.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _STACK.pop()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}=={getattr(self, name)}" for name in _DEFAULTS)
        return f"qconfig({shown})"

    __str__ = __repr__


_STACK: list[QConfig] = [QConfig()]


def current_qconfig() -> QConfig:
    """The choices of the innermost `with`."""
    return _STACK[-1]


def qconfig(**kwargs: Any) -> QConfig:
    """Choices; what is not given is as by default."""
    return QConfig(**kwargs)


class QuantizeContext:
    """What one run of the passes knows: marks that were made, convolutions that were met."""

    Current: QuantizeContext | None = None

    def __init__(self) -> None:
        self.qnode_map: dict[tuple[Any, ...], Any] = {}
        self._conv2d_counter = 0
        self._stop_quantize = False

    def check_to_skip(self, ref_call: Call) -> bool:
        """Whether a call stays as it is."""
        if self._stop_quantize:
            return True
        if getattr(ref_call.op, "name", "") != "nn.conv2d":
            return False
        skipped = [int(at) for at in current_qconfig().skip_conv_layers or ()]
        self._conv2d_counter += 1
        return self._conv2d_counter - 1 in skipped

    def stop_quantize(self) -> None:
        """Leave what follows as it is."""
        self._stop_quantize = True

    def reset(self) -> None:
        """Begin with the first convolution again."""
        self._stop_quantize = False
        self._conv2d_counter = 0

    def __enter__(self) -> Self:
        self.reset()
        QuantizeContext.Current = self
        return self

    def __exit__(self, *exc: object) -> None:
        QuantizeContext.Current = None


def quantize_context() -> QuantizeContext:
    """What the present run knows; a new context outside of one."""
    if QuantizeContext.Current is None:
        QuantizeContext.Current = QuantizeContext()
    return QuantizeContext.Current
