"""Files from the net; the addresses here are those of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.contrib import download

pytestmark = pytest.mark.pure


def test_a_file_is_fetched_once(tmp_path: Path) -> None:
    source, place = tmp_path / "source", tmp_path / "new" / "place"
    source.write_text("one")
    download.download(source.as_uri(), place)
    source.write_text("two!")
    download.download(source.as_uri(), place)
    assert place.read_text() == "one"
    download.download(source.as_uri(), place, size_compare=True)
    assert place.read_text() == "two!"
    source.write_text("2222")
    download.download(source.as_uri(), place, size_compare=True)
    assert place.read_text() == "two!"
    download.download(source.as_uri(), str(place), overwrite=True)
    assert place.read_text() == "2222"


def test_failures_leave_nothing(tmp_path: Path) -> None:
    place = tmp_path / "place"
    for url in ((tmp_path / "missing").as_uri(), "nowhere"):
        with pytest.raises(OSError, match=f"download {url}"):
            download.download(url, place, retries=2)
    assert list(tmp_path.iterdir()) == []


def test_data_of_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_TEST_DATA_ROOT_PATH", str(tmp_path / "root"))
    source = tmp_path / "cat.png"
    source.write_text("cat")
    found = download.download_testdata(source.as_uri(), "cat.png", module="data")
    assert found == str(tmp_path / "root" / "data" / "cat.png")
    assert Path(found).read_text() == "cat"
    assert tmp_path / "root" == download.TEST_DATA_ROOT_PATH
    with pytest.raises(AttributeError, match="no attribute 'OTHER'"):
        _ = download.OTHER
