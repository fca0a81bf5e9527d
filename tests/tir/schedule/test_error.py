from __future__ import annotations

import pytest

from tests.tir.schedule.cases import matmul
from tvm.error import TVMError
from tvm.tir.schedule import Schedule, ScheduleError


def message(level: str) -> str:
    sch = Schedule(matmul(), error_render_level=level)
    with pytest.raises(ScheduleError) as caught:
        sch.get_block("wrong_name")
    (text,) = caught.value.args
    return text


def test_detail() -> None:
    text = message("detail")
    assert "An error occurred in the schedule primitive 'get-block'" in text
    assert 'sch.get_block(name="wrong_name", func_name="main")' in text
    assert "Cannot find a block with the name: wrong_name" in text
    assert "def main(" in text
    assert "legal: one of ['root', 'C']" in text


def test_fast() -> None:
    text = message("fast")
    assert "Cannot find a block with the specified name" in text
    assert "def main(" not in text


@pytest.mark.parametrize(
    ("call", "fast", "detail"),
    [
        (
            lambda sch, block: sch.split(sch.get_loops(block)[0], [0, 2]),
            "However, some constant input factor is zero or negative.",
            "However, the factor at position 0 is 0",
        ),
        (
            lambda sch, block: sch.cache_read(block, 7, "shared"),
            "where `num_read_regions` is the number of buffer regions read by the block.",
            "so `buffer_index` is required to be in [0, 2). However, the input `buffer_index` is 7",
        ),
        (
            lambda sch, block: sch.transform_layout(
                block, ("write", 0), lambda i, j: [i // 7, i % 7, j]
            ),
            "Transformation would introduce padding at axis0 == ",
            "However, this would introduce padding wherever axis0 == ",
        ),
    ],
)
def test_fast_words_name_nothing_of_the_program(call, fast: str, detail: str) -> None:
    for level, words in (("fast", fast), ("detail", detail)):
        sch = Schedule(matmul(), error_render_level=level)
        with pytest.raises(ScheduleError) as caught:
            call(sch, sch.get_block("C"))
        assert words in str(caught.value)
        assert ("IR with diagnostic" in str(caught.value)) is (level == "detail")


def test_none() -> None:
    assert "(not rendered)" in message("none")


def test_the_spot_is_underlined() -> None:
    sch = Schedule(matmul())
    with pytest.raises(TVMError) as caught:
        sch.parallel(sch.get_loops("C")[2])
    assert "^^^" in str(caught.value)
    assert "rfactor" in str(caught.value)


def test_nodes_are_numbered_and_marked() -> None:
    sch = Schedule(matmul())
    i, _, k = sch.get_loops("C")
    with pytest.raises(ScheduleError) as caught:
        sch.fuse(i, k)
    lines = str(caught.value).splitlines()
    assert lines[:3] == [
        "ScheduleError: An error occurred in the schedule primitive 'fuse'.",
        "",
        "The IR with diagnostic is:",
    ]
    for number in (0, 1):
        at = next(n for n, line in enumerate(lines) if line.endswith(f"# tir.For#{number}"))
        head, carets, body = lines[at + 1 : at + 4]
        assert head.strip().startswith("for ")
        assert carets == " " * (len(head) - len(head.strip())) + "^" * len(head.strip())
        assert lines[at + 4].strip() == "^" * len(body.strip())  # all of it is marked
        assert body.strip()


def test_the_rule_stands_beside_what_was_found() -> None:
    sch = Schedule(matmul())
    loop = sch.get_loops("C")[0]
    with pytest.raises(TVMError) as caught:
        sch.compute_at("C", loop)
    wanted = (
        "Expected the block tir.Block#0 and loop tir.For#1 to be under the same block scope, and "
        "loop not to be the ancestor of block\n"
    )
    assert wanted in str(caught.value)
    with pytest.raises(TVMError) as caught:
        sch.split(loop, factors=[2, 2])
    assert "the extent of loop tir.For#0\n" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda sch, block: sch.fuse(), ValueError),
        (lambda sch, block: sch.merge(), ValueError),
        (lambda sch, block: sch.sample_categorical([2, 4], [1.0]), ValueError),
        (lambda sch, block: sch.unannotate(block, "none"), IndexError),
    ],
)
def test_arguments_that_suit_no_program(call, kind: type[Exception]) -> None:
    sch = Schedule(matmul())
    with pytest.raises(kind) as caught:
        call(sch, sch.get_block("C"))
    assert isinstance(caught.value, ScheduleError)
