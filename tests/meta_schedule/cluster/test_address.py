"""Addresses of clusters."""

from __future__ import annotations

import pytest

from tvm.meta_schedule.cluster import cluster_at, is_address

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("text", ["ray://head", "ray://head:10001", "dask://local", "tcp://h:8786"])
def test_addresses(text: str) -> None:
    assert is_address(text)


@pytest.mark.parametrize("text", ["ray", "local", "http://head", "ray:/head", None, 3])
def test_what_is_none(text: object) -> None:
    assert not is_address(text)


@pytest.mark.parametrize("text", ["ray://", "http://head"])
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match=rf"(?s)found: '{text}'.*legal: ray://HOST:PORT"):
        cluster_at(text)
