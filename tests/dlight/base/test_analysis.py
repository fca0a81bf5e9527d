import pytest

import tvm.dlight.base.analysis as older
from tvm.dlight import analysis

pytestmark = pytest.mark.pure


def test_the_older_place_has_the_same_functions() -> None:
    for name in older.__all__:
        assert getattr(older, name) is getattr(analysis, name)
