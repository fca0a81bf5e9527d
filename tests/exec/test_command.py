from __future__ import annotations

import pytest

from tvm.exec.command import Steps, table

pytestmark = pytest.mark.pure


def test_table_aligns() -> None:
    shown = table(["name", "us"], [["a", "1.5"], ["longer", "20.0"]], right=(1,))
    assert shown == "name      us\n------  ----\na        1.5\nlonger  20.0"


def test_table_without_rows() -> None:
    assert table(["name", "us"], []) == "name  us\n----  --"


def test_steps_are_kept_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    steps = Steps(aloud=True)
    with steps.step("read"):
        pass
    with steps.step("write"):
        pass
    assert list(steps.seconds) == ["read", "write"]
    assert capsys.readouterr().err.startswith("read: 0.0")
