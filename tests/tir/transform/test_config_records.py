import pytest

from tvm.error import ConfigError
from tvm.ir.transform import PassContext
from tvm.tir import transform

pytestmark = pytest.mark.pure

NAMES = [name for name in dir(transform) if name.endswith("Config")]


@pytest.mark.parametrize("name", NAMES)
def test_stands_for_its_key(name):
    record = getattr(transform, name)()
    assert PassContext(config={record.key: record}).option(record.key) is record
    assert record.key == f"tir.{name.removesuffix('Config')}"


def test_fields():
    assert transform.UnrollLoopConfig(auto_max_step=8).auto_max_step == 8
    assert transform.UnrollLoopConfig().auto_max_depth == 8
    with pytest.raises(ConfigError, match="auto_max_step"):
        transform.UnrollLoopConfig(auto_max_steps=8)
