from __future__ import annotations

from tests.tir.schedule.cases import check, elementwise, open_schedule, refuses


def test_there_and_back() -> None:
    func = elementwise(8)
    sch = open_schedule(func)
    (i,) = sch.get_loops("B")
    block = sch.get_block("B")
    sch.annotate(i, "pragma", 4)
    sch.annotate(block, "names", ["a", "b"])
    assert sch.get(i).annotations["pragma"] == 4
    assert sch.get(block).annotations["names"] == ("a", "b")
    check(sch, func)
    sch.unannotate(i, "pragma")
    sch.unannotate(block, "names")
    assert not sch.get(i).annotations
    check(sch, func)


def test_what_is_not_there() -> None:
    sch = open_schedule(elementwise(8))
    refuses(sch, "has no annotation 'x'", "unannotate", sch.get_loops("B")[0], "x")
