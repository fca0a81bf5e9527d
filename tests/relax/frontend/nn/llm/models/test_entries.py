"""Entries that somebody else wrote: each kind, and configurations with anything in them."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest

from tests.serve.small_models import CONFIGS
from tvm.error import TVMError
from tvm.relax.frontend.nn.llm.models.config import config_of, read_config
from tvm.relax.frontend.nn.llm.models.entries import Entries
from tvm.relax.frontend.nn.llm.models.rotary import frequencies

pytestmark = pytest.mark.pure
ODD = [None, "x", -1, 0, 1.5, [], {}, True, 10**30, "10", [1], float("nan"), float("inf")]


def _of(value: Any) -> Entries:
    return Entries({"a": value}, "a file")


def test_each_kind_is_checked() -> None:
    assert _of(3).size("a") == _of(3.0).size("a") == 3
    assert _of(None).size("a", 7) == 7
    assert _of(2).number("a") == 2.0
    assert _of(True).truth("a")
    assert not _of(None).truth("a")
    assert _of([1, 2.5]).numbers("a", 2) == [1.0, 2.5]
    assert _of(["x", "y"]).texts("a", 1) == ["x", "y"]
    assert _of({"b": 4}).group("a").size("b") == 4
    for value in (0, -3, 1.5, "3", True, 2**40):
        with pytest.raises(TVMError, match=r"a in a file\n  found: .*\n  legal: a whole number"):
            _of(value).size("a")
    for value in (0, "3", False, float("nan"), float("inf")):
        with pytest.raises(TVMError, match="legal: a number above 0"):
            _of(value).number("a")
    with pytest.raises(TVMError, match="a file\n  found: no entry 'b'"):
        _of(1).size("b")
    with pytest.raises(TVMError, match="b in a of a file"):
        _of({"b": "x"}).group("a").size("b")
    with pytest.raises(TVMError, match="a list of 2 numbers"):
        _of([1]).numbers("a", 2)
    with pytest.raises(TVMError, match="true or false"):
        _of("yes").truth("a")


def test_configurations_with_anything_in_them_are_read_or_refused() -> None:
    rng = random.Random(2)
    read = 0
    for _ in range(1500):
        given = copy.deepcopy(rng.choice(list(CONFIGS.values())))
        for _ in range(rng.randint(1, 2)):
            name = rng.choice(list(given))
            inner = given[name]
            if rng.random() < 0.2:
                del given[name]
            elif isinstance(inner, dict) and inner:
                inner[rng.choice(list(inner))] = rng.choice(ODD)
            else:
                given[name] = rng.choice(ODD)
        try:
            config = config_of(given)
            if config.positions == "rotary":
                frequencies(config)
            read += 1
        except TVMError:
            pass
    assert 50 < read < 1400


def test_what_would_be_computed_otherwise_is_refused() -> None:
    for kind, entry in (("phi", "qk_layernorm"), ("gpt2", "scale_attn_by_inverse_layer_idx"),
                        ("gemma3", "use_bidirectional_attention")):  # fmt: skip
        with pytest.raises(TVMError, match=f"{entry} in the configuration .*\n  found: True"):
            config_of({**CONFIGS[kind], entry: True})
        config_of({**CONFIGS[kind], entry: False})
    with pytest.raises(TVMError, match="a divisor of 4 heads"):
        config_of({**CONFIGS["llama"], "num_key_value_heads": 3})
    with pytest.raises(TVMError, match="a multiple of 5 heads"):
        config_of({**CONFIGS["llama"], "num_attention_heads": 5})


@pytest.mark.parametrize("text", ["[]", "1", "null", "{", "\x00", "[" * 100_000])
def test_files_that_are_no_object_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(TVMError, match=r"the configuration .*config.json"):
        read_config(tmp_path)
