"""Where values die."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.relay import transform

pytestmark = pytest.mark.pure


def check(before: str, after: str) -> None:
    head = '#[version = "0.0.5"]\n'
    made = transform.ManifestLifetimes()(relay.parse(head + before))
    wanted = transform.InferType()(relay.parse(head + after))
    tvm.ir.assert_structural_equal(made, wanted, map_free_vars=True)


def test_values_die_behind_their_last_use() -> None:
    check("""def @main(%a: int32, %b: int32) {
               let %c = add(%a, %b); let %d = multiply(%c, %a); let %e = negative(%d); %e }""",
          """def @main(%a: int32, %b: int32) {
               let %c = add(%a, %b); let %_0 = memory.kill(%b);
               let %d = multiply(%c, %a); let %_1 = memory.kill(%c); let %_2 = memory.kill(%a);
               let %e = negative(%d); let %_3 = memory.kill(%d); %e }""")  # fmt: skip


def test_a_value_dies_in_the_branch_that_reads_it() -> None:
    check("""def @main(%x: int32) {
               let %y = cast(%x, dtype="bool");
               let %z = if (%y) { let %v = add(%x, %x); let %w = negative(%v); %w } else { %x };
               %z }""",
          """def @main(%x: int32) {
               let %y = cast(%x, dtype="bool");
               let %z = if (%y) {
                 let %v = add(%x, %x); let %_0 = memory.kill(%x);
                 let %w = negative(%v); let %_1 = memory.kill(%v); %w } else { %x };
               let %_2 = memory.kill(%y);
               %z }""")  # fmt: skip


def test_what_is_read_after_a_branch_outlives_it() -> None:
    check("""def @main(%c: bool, %x: int32) {
               let %y = if (%c) { let %v = add(%x, %x); %v } else { %x };
               let %z = add(%x, %y); %z }""",
          """def @main(%c: bool, %x: int32) {
               let %y = if (%c) { let %v = add(%x, %x); %v } else { %x };
               let %_0 = memory.kill(%c);
               let %z = add(%x, %y); let %_1 = memory.kill(%x); let %_2 = memory.kill(%y);
               %z }""")  # fmt: skip


def test_patterns_bind_values_that_die() -> None:
    data = "type List[A] { Cons(A, List[A]), Nil }\n"
    check(data + """def @main(%l: List[int32]) {
                 match (%l) { Cons(%h, %t) => { let %v = negative(%h); %v }, Nil => 0 } }""",
          data + """def @main(%l: List[int32]) {
                 match (%l) { Cons(%h, %t) => {
                   let %v = negative(%h); let %_0 = memory.kill(%h); %v },
                 Nil => 0 } }""")  # fmt: skip


def test_another_name_is_no_other_value() -> None:
    check("""def @main(%x: int32) {
               let %y = %x; let %z = add(%y, %y); let %w = negative(%x); %w }""",
          """def @main(%x: int32) {
               let %z = add(%x, %x);
               let %w = negative(%x); let %_0 = memory.kill(%x); %w }""")  # fmt: skip


def test_a_closure_keeps_what_it_took() -> None:
    check("""def @main(%x: int32) {
               let %f = fn (%y: int32) { let %z = add(%x, %y); %z };
               let %r = %f(%x); %r }""",
          """def @main(%x: int32) {
               let %f = fn (%y: int32) {
                 let %z = add(%x, %y); let %_0 = memory.kill(%y); %z };
               let %r = %f(%x); let %_1 = memory.kill(%f); let %_2 = memory.kill(%x);
               %r }""")  # fmt: skip
