"""Every value has a device, and copies stand where it changes."""

from __future__ import annotations

import re

import pytest

import tvm
from tvm import relay
from tvm.target import Target, VirtualDevice, make_compilation_config

HOST = Target("llvm")
CPU = VirtualDevice(tvm.cpu(0), Target("llvm", HOST))
GPU = VirtualDevice(tvm.cuda(0), Target("cuda", HOST))
META = {"VirtualDevice": [CPU, GPU, VirtualDevice(tvm.cpu(0), HOST)]}
CONTEXT = tvm.transform.PassContext(config={"relay.fallback_device_type": GPU.device_type_int})
CONFIG = make_compilation_config(CONTEXT, [CPU.target, GPU.target])
ABCD = ", ".join(f"%{name} {{}}: Tensor[(5, 7), float32]" for name in "abcd")


def parse(text, types=None):
    """The module of a text in which C, G and H stand for the devices and the host."""
    text = text.replace("@C", "virtual_device=meta[VirtualDevice][0]")
    text = text.replace("@G", "virtual_device=meta[VirtualDevice][1]")
    text = text.replace("@H", "virtual_device=meta[VirtualDevice][2]")
    text = text.replace("C->G", "src_virtual_device=meta[VirtualDevice][0], "
                        "dst_virtual_device=meta[VirtualDevice][1]")  # fmt: skip
    text = text.replace("G->C", "src_virtual_device=meta[VirtualDevice][1], "
                        "dst_virtual_device=meta[VirtualDevice][0]")  # fmt: skip
    text = text.replace(" {}", "")
    return relay.parse('#[version = "0.0.5"]\n' + text, "from_string", types, META)


def params(places):
    """Parameters a to d with devices, one letter each; a blank for none."""
    made = ABCD
    for place in places:
        made = made.replace("{}", f"{{@{place}}}" if place.strip() else "{ }", 1)
    return made.replace(" { }", "")


def plan(mod):
    infer = relay.transform.InferType()
    return infer(relay.transform.PlanDevices(CONFIG)(infer(mod)))


def text(mod):
    return re.sub(r" ?/\*.*?\*/", "", mod.astext(show_meta_data=False))


def check(before, expected, types=None):
    wanted = relay.transform.InferType()(parse(expected, types))
    found = plan(parse(before, types))
    for mod in (found, plan(wanted)):  # what was planned stays as it is
        tvm.ir.assert_structural_equal(mod, wanted, map_free_vars=True)
        assert text(mod) == text(wanted)


FREE, FIXED = params("    "), ", constrain_result=True"


def test_nothing_said_is_the_default():
    check(
        f"def @main({FREE}) {{ %0 = add(%a, %b); %1 = add(%c, %d); subtract(%0, %1) }}",
        f"""def @main({params("GGGG")}, @G) {{
            %0 = add(%a, %b); %1 = add(%c, %d); subtract(%0, %1) }}""",
    )


def test_a_marked_value_is_copied_to_its_user():
    check(
        f"""def @main({FREE}) {{ %0 = add(%a, %b); %1 = on_device(%0, @C); %2 = add(%c, %d);
            subtract(%1, %2) }}""",
        f"""def @main({params("CCGG")}, @G) {{ %0 = add(%a, %b); %1 = on_device(%0, @C{FIXED});
            %2 = device_copy(%1, C->G); %3 = add(%c, %d); subtract(%2, %3) }}""",
    )


def test_a_copy_says_where_both_sides_are():
    check(
        f"""def @main({FREE}) {{ %0 = add(%a, %b); %1 = device_copy(%0, C->G); %2 = add(%c, %d);
            subtract(%1, %2) }}""",
        f"""def @main({params("CCGG")}, @G) {{ %0 = add(%a, %b); %1 = on_device(%0, @C{FIXED});
            %2 = device_copy(%1, C->G); %3 = add(%c, %d); subtract(%2, %3) }}""",
    )


def test_a_value_marked_twice_is_copied_twice():
    check(
        """def @main(%a: Tensor[(5), float32]) { %0 = negative(%a); %1 = on_device(%0, @C);
            %2 = on_device(%0, @C); subtract(%1, %2) }""",
        f"""def @main(%a {{@C}}: Tensor[(5), float32], @G) {{ %0 = negative(%a);
            %1 = on_device(%0, @C{FIXED}); %2 = on_device(%0, @C{FIXED});
            %3 = device_copy(%1, C->G); %4 = device_copy(%2, C->G); subtract(%3, %4) }}""",
    )


def test_the_value_of_a_let_is_marked():
    check(
        f"""def @main({FREE}) {{ let %l = add(%a, %b); let %r = add(%c, %d);
            %0 = on_device(%l, @C); subtract(%0, %r) }}""",
        f"""def @main({params("CCGG")}, @G) {{
            let %l = on_device(add(%a, %b), @C{FIXED}); let %r = on_device(add(%c, %d), @G{FIXED});
            %0 = device_copy(%l, C->G); subtract(%0, %r) }}""",
    )


def test_a_mark_on_a_function_s_body_is_its_result_s():
    check(
        f"""def @main({FREE}) {{
            let %f = fn (%x, %y) {{ %0 = add(%x, %y); on_device(%0, @C) }};
            %1 = %f(%a, %b); %2 = add(%c, %d); subtract(%1, %2) }}""",
        f"""def @main({params("CCCC")}, @C) {{
            let %f = fn (%x {{@C}}, %y {{@C}}, @C) {{ add(%x, %y) }};
            %0 = %f(%a, %b); %1 = add(%c, %d); subtract(%0, %1) }}""",
    )


def test_a_mark_on_a_call_is_the_function_s():
    check(
        f"""def @main({FREE}) {{ let %f = fn (%x, %y) {{ add(%x, %y) }};
            %0 = %f(%a, %b); %1 = on_device(%0, @C); %2 = add(%c, %d); subtract(%1, %2) }}""",
        f"""def @main({params("CCGG")}, @G) {{
            let %f = fn (%x {{@C}}, %y {{@C}}, @C) {{ add(%x, %y) }};
            %0 = %f(%a, %b); %1 = on_device(%0, @C{FIXED}); %2 = device_copy(%1, C->G);
            %3 = add(%c, %d); subtract(%2, %3) }}""",
    )


def test_a_parameter_is_where_its_use_says():
    check(
        f"""def @main({FREE}) {{
            let %f = fn (%x, %y) {{ %0 = on_device(%x, @C); add(%0, %y) }};
            %1 = %f(%a, %b); %2 = add(%c, %d); subtract(%1, %2) }}""",
        f"""def @main({params("CGGG")}, @G) {{
            let %f = fn (%x {{@C}}, %y {{@G}}, @G) {{ %0 = device_copy(%x, C->G); add(%0, %y) }};
            %1 = %f(%a, %b); %2 = add(%c, %d); subtract(%1, %2) }}""",
    )


def test_functions_of_functions():
    check(
        """def @main(%x: Tensor[(5), float32], %y: Tensor[(5), float32]) {
            let %f = fn (%g) { fn (%a) { %0 = on_device(%a, @C); %1 = %g(%0); add(%1, %x) } };
            let %h = fn (%b) { negative(%b) };
            %2 = %f(%h); %3 = %2(%y); subtract(%x, %3) }""",
        """def @main(%x {@G}: Tensor[(5), float32], %y {@C}: Tensor[(5), float32], @G) {
            let %f = fn (%g {@G}, @G) {
              fn (%a {@C}, @G) { %0 = device_copy(%a, C->G); %1 = %g(%0); add(%1, %x) } };
            let %h = fn (%b {@G}, @G) { negative(%b) };
            %2 = %f(%h); %3 = %2(%y); subtract(%x, %3) }""",
    )


def test_a_tuple_s_mark_is_its_items():
    check(
        """def @main(%a: Tensor[(4, 4), float32]) {
            %0 = split(%a, indices_or_sections=2); %1 = on_device(%0, @C);
            %2 = %1.0; %3 = %1.1; subtract(%2, %3) }""",
        f"""def @main(%a {{@C}}: Tensor[(4, 4), float32], @G) {{
            %0 = split(%a, indices_or_sections=2);
            %1 = %0.0; %2 = on_device(%1, @C{FIXED}); %3 = %0.1; %4 = on_device(%3, @C{FIXED});
            %5 = device_copy(%2, C->G); %6 = device_copy(%4, C->G); subtract(%5, %6) }}""",
    )


def test_shapes_are_on_the_host():
    check(
        f"""def @main(%x: Tensor[(?, ?), float32]) {{ %0 = on_device(negative(%x), @G{FIXED});
            vm.shape_of(%0, dtype="int64") }}""",
        f"""def @main(%x {{@G}}: Tensor[(?, ?), float32], @H) {{
            %0 = negative(%x); %1 = on_device(%0, @G{FIXED}); vm.shape_of(%1, dtype="int64") }}""",
    )


def test_memory():
    core = tvm.IRModule()
    core.import_from_std("core.rly")
    check(
        """def @main(%size: int64, %alignment: int64) -> Storage[] {
            memory.alloc_storage(%size, %alignment, @G) }""",
        """def @main(%size {@H}: int64, %alignment {@H}: int64, @G) -> Storage[] {
            memory.alloc_storage(%size, %alignment, @G) }""",
        core,
    )


def test_functions_of_the_module_and_conditions():
    check(
        """def @f(%x: Tensor[(5), float32]) -> Tensor[(5), float32] {
            %0 = negative(%x); on_device(%0, @C) }
        def @main(%p: bool, %x: Tensor[(5), float32]) -> Tensor[(5), float32] {
            if (%p) { @f(%x) } else { %x } }""",
        """def @f(%x {@C}: Tensor[(5), float32], @C) -> Tensor[(5), float32] { negative(%x) }
        def @main(%p {@C}: bool, %x {@C}: Tensor[(5), float32], @C) -> Tensor[(5), float32] {
            if (%p) { @f(%x) } else { %x } }""",
    )


def test_references_hold_what_is_on_their_device():
    check(
        """def @main(%x: Tensor[(5), float32]) {
            let %r = ref(%x); let %y = on_device(negative(%x), @C); let %d = (%r := %y); %r^ }""",
        f"""def @main(%x {{@C}}: Tensor[(5), float32], @C) {{
            let %r = on_device(ref(%x), @C{FIXED}); let %y = on_device(negative(%x), @C{FIXED});
            let %d = on_device((%r := %y), @C{FIXED}); %r^ }}""",
    )


def test_two_devices_for_one_value_are_refused():
    mod = parse(f"""def @main({FREE}) {{
        let %x = on_device(add(%a, %b), @C{FIXED}); on_device(%x, @G{FIXED}) }}""")
    with pytest.raises(tvm.error.DiagnosticError, match="a value is to be on two devices"):
        plan(mod)


def test_the_default_follows_from_the_targets():
    only = make_compilation_config(None, "cuda", "llvm")
    assert only.default_primitive_virtual_device.device_type_int == GPU.device_type_int
    both = make_compilation_config(tvm.transform.PassContext(), [CPU.target, GPU.target])
    assert both.default_primitive_virtual_device == CPU
    with pytest.raises(tvm.error.TVMError, match=r"relay\.fallback_device_type"):
        make_compilation_config(CONTEXT, "llvm")
