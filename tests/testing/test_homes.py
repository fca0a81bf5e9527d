"""Each public helper is found where users look for it."""

from __future__ import annotations

import pytest

import tvm.testing
from tvm.testing import utils
from tvm.testing.homes import HOMES

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("name", HOMES)
def test_two_doors(name: str) -> None:
    assert getattr(tvm.testing, name) is getattr(utils, name)
    assert name in dir(tvm.testing)


def test_star_import() -> None:
    names: dict[str, object] = {}
    exec("from tvm.testing.utils import *", names)
    assert set(HOMES) <= set(names)
