"""Operators on strings, against ONNX Runtime; pictures from files, against Pillow."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.relax.frontend.onnx.models import Array, check, make_model, run_compiled
from tvm.error import ArgumentValueError, OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx
from tvm.runtime import strings

pytestmark = pytest.mark.cpu
ML = "ai.onnx.ml"
LONG = "a string that is longer than a code"


def words(*texts: str) -> Array:
    return np.array(texts, object)


def string_check(
    op: str, inputs: dict[str, Array], outputs: int = 1, domain: str = "", ml: int = 3, **attrs: Any
) -> None:
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, list(inputs), names, domain=domain, name="strings", **attrs)
    check(make_model([node], inputs, names, opset=21, domains={ML: ml}), inputs)


def test_concat() -> None:
    rows = words("a", "", LONG, "é").reshape(2, 2)
    string_check("StringConcat", {"x": rows, "z": words("-", LONG)})


@pytest.mark.parametrize(
    "attrs", [{"delimiter": ","}, {"delimiter": ",", "maxsplit": 1}, {}, {"maxsplit": 1}]
)
def test_split(attrs: dict[str, Any]) -> None:
    texts = words("a,b,,c", "", ",", "x", "  a b   c ", f"{LONG},{LONG}").reshape(3, 2)
    string_check("StringSplit", {"x": texts}, 2, **attrs)
    string_check("StringSplit", {"x": words()}, 2, **attrs)


def test_split_knows_all_white_space() -> None:
    node = helper.make_node("StringSplit", ["x"], ["y", "n"])
    pieces, counts = run_compiled(make_model([node], {"x": words("x\ty\nz")}, ["y", "n"], opset=21),
                                  {"x": words("x\ty\nz")})  # fmt: skip
    assert strings.decode(pieces).tolist() == [["x", "y", "z"]]
    assert counts.tolist() == [3]


TEXTS = words("hello big  world", "a bc,def;g h", "", " lead", "trail ", "überß漢字 x", "abcabxab",
              LONG)  # fmt: skip


@pytest.mark.parametrize(
    "attrs",
    [{"separators": [" "]}, {"separators": [" ", ","]}, {"separators": ["b", "ab"]},
     {"separators": ["a|ab"]}, {"separators": [""]}, {"separators": [" "], "tokenexp": "a"},
     {"tokenexp": "."}, {"tokenexp": "[a-z]+"}, {"tokenexp": r"\w*"}, {"tokenexp": "a|ab|abc"},
     {"tokenexp": "[a-z]+?"}],
)  # fmt: skip
@pytest.mark.parametrize(("mark", "least"), [(0, 1), (1, 1), (0, 2)])
def test_tokens(attrs: dict[str, Any], mark: int, least: int) -> None:
    """The longest match counts, also of alternatives and of patterns that want little."""
    if least == 2 and ("." in attrs.values() or [""] in attrs.values()):
        return  # ONNX Runtime refuses it: characters are one character
    attrs |= {"mark": mark, "mincharnum": least, "pad_value": "#"}
    for x in (TEXTS, TEXTS.reshape(4, 2), words("", "")):
        string_check("Tokenizer", {"x": x}, domain="com.microsoft", **attrs)


@pytest.mark.parametrize(
    ("attrs", "text"),
    [({}, "neither"), ({"separators": ["x*"]}, "one character or more"),
     ({"tokenexp": "("}, "RE2's syntax")],
)  # fmt: skip
def test_tokens_of_no_pattern_are_refused(attrs: dict[str, Any], text: str) -> None:
    node = helper.make_node("Tokenizer", ["x"], ["y"], domain="com.microsoft", mark=0, mincharnum=1,
                            pad_value="", **attrs)  # fmt: skip
    with pytest.raises(OpAttributeInvalid, match=text):
        from_onnx(make_model([node], {"x": TEXTS}, ["y"]))


@pytest.mark.parametrize("attrs", [{}, {"seed": 2**31, "positive": 0}])
def test_hashes(attrs: dict[str, Any]) -> None:
    string_check("MurmurHash3", {"x": TEXTS.reshape(2, 4)}, domain="com.microsoft", **attrs)
    for dtype in ("int32", "uint32", "int64", "uint64", "float32", "float64"):
        numbers = np.array([[0, 1, 100]]).astype(dtype)
        string_check("MurmurHash3", {"x": numbers}, domain="com.microsoft", **attrs)


@pytest.mark.parametrize("case", ["NONE", "LOWER", "UPPER"])
@pytest.mark.parametrize("sensitive", [0, 1])
def test_normalizer(case: str, sensitive: int) -> None:
    """ONNX Runtime asks the machine for a locale; the definition is what counts here."""
    given = ["Monday", "tueSday", "É ß", "monday", LONG]
    node = helper.make_node("StringNormalizer", ["x"], ["y"], case_change_action=case,
                            is_case_sensitive=sensitive, stopwords=["monday"])  # fmt: skip
    kept = [text for text in given if (text if sensitive else text.lower()) != "monday"]
    change = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}[case]
    for shape in ((-1,), (1, -1)):
        x = words(*given).reshape(shape)
        (codes,) = run_compiled(make_model([node], {"x": x}, ["y"], opset=21), {"x": x})
        assert strings.decode(codes).reshape(-1).tolist() == [change(text) for text in kept]
        assert codes.ndim == len(shape)


def test_no_words_are_one_empty_word() -> None:
    string_check("StringNormalizer", {"x": words("a", "a")}, is_case_sensitive=1, stopwords=["a"])


@pytest.mark.parametrize(
    "pattern",
    [r"a\z", "a$", r"a$\n", "(?i)ab", "(?i:a)b", r"\pL+", r"\p{Lu}+", r"\PL+", "[[:alpha:]]+",
     "[^[:alpha:]]+", r"\Qa.b\E", r"\d+", r"\w+", ".", r"\x{e9}", "(?P<n>a)(b|c)?", "(?U)a*b",
     "[]a]+", r"[\pL.]+", "(?s).", r"\bab\b", "a{1,2}.?b"],
)  # fmt: skip
def test_full_match(pattern: str) -> None:
    texts = words("a", "AB", "a\n", "ab", "a.b", "é", "٣", "\n", "]", "12", LONG)
    string_check("RegexFullMatch", {"x": texts}, pattern=pattern)


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "(?=a)a", "(?<!a)b", "(?P=n)", "a**", "(", r"\p{Greek}"]
)
def test_patterns_that_are_refused(pattern: str) -> None:
    node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=pattern)
    with pytest.raises(OpAttributeInvalid, match="RE2's syntax"):
        from_onnx(make_model([node], {"x": words("a")}, ["y"], opset=21))


def test_casts() -> None:
    floats = np.array([1.5, 1 / 3, 1e10, np.nan, np.inf, -np.inf, -0.0, 1e-7, 2.0], "float32")
    for values in (floats, np.array([1 / 3, 1e20]), np.array([True, False]), np.array([-3, 4])):
        string_check("Cast", {"x": values}, to=TensorProto.STRING)
    numbers = words("1.5", " 2", "nan", "INF", "-inf", "1e3")
    string_check("Cast", {"x": numbers}, to=TensorProto.FLOAT)
    string_check("Cast", {"x": words("15", "-3")}, to=TensorProto.INT64)
    string_check("Cast", {"x": words("1", "0")}, to=TensorProto.BOOL)


def test_a_cast_of_other_strings_says_so() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT)
    with pytest.raises(ArgumentValueError, match="found: 'x'\n  legal: text of a float32"):
        run_compiled(make_model([node], {"x": words("x")}, ["y"]), {"x": words("x")})


@pytest.mark.parametrize("ordered", [0, 1])
def test_unique(ordered: int) -> None:
    string_check("Unique", {"x": words("b", "a", LONG, "b", "C", "", LONG)}, 4, sorted=ordered)


def test_tables_of_strings() -> None:
    x = words("b", "a", LONG, "other").reshape(2, 2)
    ml = {"domain": ML}
    keys = ["a", "b", LONG]
    string_check("LabelEncoder", {"x": x}, keys_strings=keys, values_int64s=[5, 6, 7], **ml)
    string_check("LabelEncoder", {"x": x}, keys_strings=keys, values_strings=[LONG, "y", "z"], **ml)
    numbers = np.array([3, 1, 9])
    string_check("LabelEncoder", {"x": numbers}, keys_int64s=[1, 3], values_strings=["p", LONG],
                 default_string="none", **ml)  # fmt: skip
    string_check("LabelEncoder", {"x": x}, ml=1, classes_strings=keys, default_int64=-7, **ml)
    string_check("LabelEncoder", {"x": numbers}, ml=1, classes_strings=keys, **ml)
    pairs = {"cats_strings": keys, "cats_int64s": [1, 3, 4], **ml}
    string_check("CategoryMapper", {"x": x}, **pairs)
    string_check("CategoryMapper", {"x": numbers}, **pairs)
    string_check("OneHotEncoder", {"x": words("b", LONG, "?")}, cats_strings=keys, **ml)


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_words_are_counted(mode: str) -> None:
    attrs = {
        "mode": mode, "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 1,
        "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 4],
        "weights": [0.5, 2.0, 1.0, 3.0, 4.0],
        "pool_strings": ["a", "b", LONG, "a", "b", LONG, "a"],
    }  # fmt: skip
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **attrs)
    x = words("a", "b", "a", LONG, "a", "b", "?", "b")
    for batch in (x, x.reshape(2, 4)):
        shape = ["n", "w"][: batch.ndim]
        check(make_model([node], {"x": batch}, ["y"], shapes={"x": shape}), {"x": batch})
    short = words("a")
    check(make_model([node], {"x": short}, ["y"], shapes={"x": ["w"]}), {"x": short})


@pytest.mark.parametrize("kind", ["RGB", "BGR", "Grayscale"])
def test_pictures_from_files(kind: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype("uint8")
    file = io.BytesIO()
    image.fromarray(pixels).save(file, "PNG")
    stream = np.frombuffer(file.getvalue(), np.uint8)
    node = helper.make_node("ImageDecoder", ["x"], ["y"], pixel_format=kind)
    model = make_model([node], {"x": stream}, ["y"], opset=20, shapes={"x": ["n"]})
    (found,) = run_compiled(model, {"x": stream})
    grey = np.asarray(image.fromarray(pixels).convert("L"))[:, :, None]
    wanted = {"RGB": pixels, "BGR": pixels[:, :, ::-1], "Grayscale": grey}[kind]
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ArgumentValueError, match="9 bytes in which Pillow reads no picture"):
        run_compiled(model, {"x": stream[:9].copy()})
