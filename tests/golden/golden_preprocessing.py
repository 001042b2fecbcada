# SPDX-License-Identifier: Apache-2.0
"""Layers for numbers, categories and texts: what they learn from data, and their outputs."""

import common
import numpy as np
import tensorflow as tf
from keras import layers


def case(name, layer, *inputs, adapt=None, batches=None, call=None):
    """layer: makes the layer; inputs: arrays, or shapes of random ones, one per call.

    adapt: an array, passed as a whole; batches: arrays, passed as a dataset of them.
    """
    return {"name": name, "layer": layer, "inputs": inputs, "adapt": adapt, "batches": batches,
            "call": call}


def floats(*values):
    return np.array(values, "float32")


def normalization_cases():
    make = layers.Normalization
    rows = floats([0, 7, 4], [2, 9, 6], [0.5, 7, 4], [2, 9, 6.5])
    for name, options in {
        "": {}, "_invert": {"invert": True}, "_none": {"axis": None},
        "_none_invert": {"axis": None, "invert": True}, "_both": {"axis": (0, 1)},
        "_axis0": {"axis": 0},
    }.items():
        make_it = lambda options=options: make(**options)
        yield case(f"normalization{name}", make_it, (4, 3), adapt=rows)
        if name != "_both" and name != "_axis0":
            yield case(f"normalization{name}_batches", make_it, (2, 3),
                       batches=[rows[:3], rows[3:], rows * 3 + 1])
    yield case("normalization_4d", lambda: make(axis=(1, -1)), (2, 3, 2, 4),
               batches=[common.normal(np.random.default_rng(1), (5, 3, 2, 4)),
                        common.normal(np.random.default_rng(2), (2, 3, 2, 4), 3.0)])
    yield case("normalization_integers", make, np.array([[1, 2], [3, 5]]), adapt=rows[:, :2])
    yield case("normalization_of_integers", make, (3, 2), adapt=np.array([[1, 2], [3, 9]]))
    yield case("normalization_constant_feature", make, (3, 2), adapt=floats([1, 2], [1, 3]))
    yield case("normalization_rows", make, (2, 3), batches=list(rows))
    yield case("normalization_scalars", lambda: make(axis=None), (4,), adapt=floats(1, 2, 3, 4, 5))
    yield case("normalization_given", lambda: make(mean=3.0, variance=2.0), (3, 2))
    yield case("normalization_given_list",
               lambda: make(mean=[0.1, 2.0], variance=[4.0, 0.25], invert=True), (3, 2))
    yield case("normalization_given_none", lambda: make(axis=None, mean=0.1, variance=0.3), (3, 2))
    yield case("normalization_given_2d",
               lambda: make(axis=(1, 2), mean=[[1.0], [2.0]], variance=[[0.5], [4.0]]), (2, 2, 3))
    yield case("normalization_given_last_of_two",
               lambda: make(axis=(1, 2), mean=[1.0, 2.0, 3.0], variance=[1.0, 2.0, 4.0]), (2, 2, 3))


MODES = ["one_hot", "multi_hot", "count"]


def discretization_cases():
    make = layers.Discretization
    data = floats(-3, 0, 0.5, 1, 7, 20, -0.1, 0.49)
    bounds = [-1.5, 0.0, 0.5, 10]
    yield case("discretization", lambda: make(bounds), data.reshape(2, 4), data[0],
               np.array([[-2, 0], [5, 10]]))
    yield case("discretization_no_boundaries", lambda: make([]), data)
    for mode in MODES:
        yield case(f"discretization_{mode}", lambda mode=mode: make(bounds, output_mode=mode),
                   data.reshape(2, 4), data.reshape(8, 1), data)
    rng = np.random.default_rng(5)
    many = np.round(rng.standard_normal((40, 25)), 3).astype("float32")
    few = floats([1, 5], [2, 7])
    for name, options, values in [
        ("", {"num_bins": 4}, many), ("_epsilon", {"num_bins": 7, "epsilon": 0.2}, many),
        ("_one_bin", {"num_bins": 1}, few), ("_more_bins", {"num_bins": 9}, few),
        ("_fine", {"num_bins": 5, "epsilon": 0.001, "output_mode": "one_hot"}, many),
    ]:
        make_it = lambda options=options: make(**options)
        yield case(f"discretization_adapted{name}", make_it, data.reshape(2, 4), adapt=values)
        parts = [values[:1], values[1:15], values[15:]] if len(values) > 2 else list(values)
        yield case(f"discretization_batches{name}", make_it, data, batches=parts)


def category_encoding_cases():
    make = layers.CategoryEncoding
    numbers = np.array([[0, 1, 1], [3, 2, 0]])
    for mode in MODES:
        yield case(f"category_encoding_{mode}", lambda mode=mode: make(4, output_mode=mode),
                   numbers, numbers[0], numbers[:, :1], numbers.astype("int32"), np.array(2))
    yield case("category_encoding", lambda: make(num_tokens=3), np.array([[5, 1], [2, 2]]))
    yield case("category_encoding_dtype", lambda: make(4, "one_hot", dtype="float64"), numbers)
    weights = floats([0.5, 1, 0.25], [2, 3, 4])
    yield case("category_encoding_weights", lambda: make(4, "count"), [numbers, weights],
               [numbers[0], weights[0]], call=lambda layer, x, w: layer(x, count_weights=w))


WORDS = ["", "a", "be", "cat", "word", "eight ch", "sixteen letters.", "seventeen letters",
         "\u00e9t\u00e9", "x" * 32, "y" * 33, "z" * 64, "0123456789" * 7, "abcdefgh" * 16, "q" * 200]
NUMBERS = [0, 1, -1, 9, 10, 99, 123, -123, 1234, 99999, -1234567, 12345678, 10**15 - 1, 10**16,
           -(10**14), -(10**15), -(10**16), 2**62, 2**63 - 1, -(2**63)]


def hashing_cases():
    make = layers.Hashing
    words, numbers = np.array(WORDS), np.array(NUMBERS)
    for name, options in {
        "": {}, "_salt": {"salt": 137}, "_salts": {"salt": [3, 2**40]}, "_int32": {"dtype": "int32"}
    }.items():
        yield case(f"hashing{name}", lambda options=options: make(1000003, **options),
                   words, numbers, numbers.reshape(5, 4), np.array("scalar"))
    yield case("hashing_mask", lambda: make(3, mask_value="a"), words.reshape(3, 5))
    yield case("hashing_mask_number", lambda: make(3, mask_value=-1), numbers)
    yield case("hashing_one_bin_mask", lambda: make(1, mask_value=-1), numbers)
    yield case("hashing_small_dtypes", lambda: make(50), np.array([1, -7, 100], "int8"),
               np.array([1, 7, 200], "uint8"), np.array([1, -70000], "int32"))
    yield case("hashing_floats", lambda: make(5), floats(1.5, -2.5, 1e9))
    for mode in MODES:
        for salt in [None, 5]:
            yield case(f"hashing_{mode}_{salt}",
                       lambda mode=mode, salt=salt: make(4, output_mode=mode, salt=salt),
                       words.reshape(3, 5), numbers[:4, None], numbers[:3])


def hashed_crossing_cases():
    make = layers.HashedCrossing
    words, numbers = np.array(WORDS[:5]), np.array(NUMBERS[1:6])
    for mode in ["int", "one_hot"]:
        yield case(f"hashed_crossing_{mode}", lambda mode=mode: make(7, output_mode=mode),
                   [words, numbers], [numbers, words], [numbers, numbers * 3 - 5],
                   [words[:, None], numbers[:, None]], [numbers[0], words[0]])
    yield case("hashed_crossing_three", lambda: make(1000, dtype="int32"),
               [words, numbers, np.array(WORDS[9:14])], [numbers] * 4)


ALL_MODES = [*MODES, "tf_idf"]
TEXTS = np.array([["cat", "dog", "cat"], ["be", "", "cat"], ["dog", "\u00e9t\u00e9", "zebra"]])
SOUGHT = [np.array([["cat", "nothing", "dog"], ["\u00e9t\u00e9", "", "[UNK]"]]),
          np.array(["be", "cat", "?"]), np.array([["be"], ["cat"], ["?"]]), np.array("dog")]
COUNTED = np.array([[7, 3, 7], [5, -2, 7], [3, 100, 0]])
WANTED = [np.array([[7, 1, 3], [100, -2, -1]]), np.array([5, 7, 8], "int32"),
          np.array([[5], [7], [-9]]), np.array(0)]


def lookup_cases(kind, make, data, sought, vocabulary, mask, oov):
    """The same cases for strings and for integers."""
    idf = [round(0.5 + 0.25 * i, 2) for i in range(len(vocabulary))]

    def with_options(name, adapt=True, inputs=sought, **options):
        if adapt:
            yield case(f"{kind}_{name}", lambda: make(**options), *inputs, adapt=data)
            yield case(f"{kind}_{name}_batches", lambda: make(**options), *inputs,
                       batches=[data[:1], data[1:]])
        else:
            yield case(f"{kind}_{name}", lambda: make(**options), *inputs)

    yield from with_options("default")
    yield from with_options("max_tokens", max_tokens=4)
    yield from with_options("mask", mask_token=mask, num_oov_indices=3)
    yield from with_options("salt", num_oov_indices=4, salt=[5, 6],
                            **({} if kind == "string_lookup" else {"oov_method": "farmhash"}))
    if kind == "integer_lookup":
        yield from with_options("farmhash", num_oov_indices=5, oov_method="farmhash")
    known = [x.ravel()[:1] for x in sought[:1]]
    yield from with_options("no_oov", inputs=known, num_oov_indices=0)
    yield from with_options("vector_of_examples", adapt=False, vocabulary=vocabulary)
    yield case(f"{kind}_adapt_vector", lambda: make(output_mode="tf_idf"), sought[0],
               adapt=data.ravel())
    yield case(f"{kind}_adapt_vectors", lambda: make(output_mode="tf_idf"), sought[0],
               batches=[data.ravel()[:4], data.ravel()[4:]])
    for mode in ALL_MODES:
        yield from with_options(mode, output_mode=mode)
        yield from with_options(f"{mode}_padded", output_mode=mode, max_tokens=12,
                                pad_to_max_tokens=True, mask_token=mask, num_oov_indices=2)
        given = {"idf_weights": idf} if mode == "tf_idf" else {}
        yield from with_options(f"{mode}_given", adapt=False, output_mode=mode,
                                vocabulary=vocabulary, **given)
        if given:
            given["idf_weights"] = [9.0, *idf]
        yield from with_options(f"{mode}_given_with_oov", adapt=False, output_mode=mode,
                                vocabulary=[oov, *vocabulary], **given)
    yield from with_options("given_with_mask_and_oov", adapt=False, mask_token=mask,
                            vocabulary=[mask, oov, *vocabulary])
    indices = [np.array([[0, 1, 2], [3, 4, 99]]), np.array(-1)]
    yield from with_options("invert", inputs=indices, invert=True, mask_token=mask)
    yield from with_options("invert_given", adapt=False, inputs=indices, invert=True,
                            num_oov_indices=2, vocabulary=vocabulary)


def string_lookup_cases():
    yield from lookup_cases("string_lookup", layers.StringLookup, TEXTS, SOUGHT,
                            ["dog", "cat", "\u00e9t\u00e9"], "", "[UNK]")


def integer_lookup_cases():
    yield from lookup_cases("integer_lookup", layers.IntegerLookup, COUNTED, WANTED,
                            [7, 3, 100], 0, -1)


def text_vectorization_cases():
    make = layers.TextVectorization
    data = np.array(["The cat sat; on the mat!", "A dog (the dog) sat.", "", "cat\tand  dog\n"])
    sought = np.array(["the CAT and the unknown", "", "dog", "don't sit: sat."])
    column = sought.reshape(4, 1)
    given = ["cat", "dog", "sat"]

    def both(name, *inputs, **options):
        inputs = inputs or (sought, column)
        yield case(f"text_{name}", lambda: make(**options), *inputs, adapt=data)
        yield case(f"text_{name}_batches", lambda: make(**options), *inputs,
                   batches=[data[:3], data[3:]])

    yield from both("default", sought, column, sought[2], np.array("a cat"))
    for length in [2, 9]:
        yield from both(f"length_{length}", output_sequence_length=length)
    for standardize in [None, "lower", "strip_punctuation"]:
        yield from both(f"standardize_{standardize}", standardize=standardize)
    yield from both("characters", np.array(["\u00e9t\u00e9 \U0001f600", "a,b"]), split="character")
    yield from both("no_split", np.array(["dog", "a dog the dog sat"]), split=None)
    yield case("text_no_split_rows", lambda: make(split=None, ngrams=2, output_sequence_length=4),
               TEXTS, adapt=TEXTS)
    for ngrams in [2, (3,), (2, 1)]:
        name = "_".join(str(n) for n in np.ravel(ngrams))
        yield from both(f"ngrams_{name}_{type(ngrams).__name__}", ngrams=ngrams)
    yield from both("max_tokens", max_tokens=4)
    for mode in ["multi_hot", "count", "tf_idf"]:
        yield from both(mode, output_mode=mode)
        yield from both(f"{mode}_ngrams_padded", output_mode=mode, ngrams=2, max_tokens=20,
                        pad_to_max_tokens=True)
        weights = {"idf_weights": [1.0, 0.5, 2.0]} if mode == "tf_idf" else {}
        yield case(f"text_{mode}_given",
                   lambda mode=mode, weights=weights: make(output_mode=mode, vocabulary=given,
                                                           **weights), sought, column)
    yield case("text_given", lambda: make(vocabulary=given), sought)
    yield case("text_given_with_special", lambda: make(vocabulary=["", "[UNK]", *given]), sought)


def mel_spectrogram_cases():
    make = layers.MelSpectrogram
    small = {"fft_length": 64, "sequence_stride": 20, "num_mel_bins": 7, "sampling_rate": 800}
    table = {
        "": {}, "_window": {"sequence_length": 41, "window": "hamming"}, "_no_window": {"window": None},
        "_frequencies": {"min_freq": 50.0, "max_freq": 300}, "_power": {"power_to_db": False},
        "_magnitude": {"power_to_db": False, "mag_exp": 1.0},
        "_decibels": {"top_db": 9.0, "ref_power": 0.5, "min_power": 0.01},
        "_odd": {"fft_length": 63, "sequence_stride": 64},
    }
    for name, options in table.items():
        yield case(f"mel_spectrogram{name}", lambda options=options: make(**(small | options)),
                   (2, 100), (150,))
    yield case("mel_spectrogram_default", lambda: make(fft_length=256), (1, 1024))


def dataset(batches):
    """Returns one dataset of batches that may differ in size."""
    first = tf.convert_to_tensor(batches[0])
    spec = tf.TensorSpec([None, *first.shape[1:]] if len({len(b) for b in batches}) > 1
                         else first.shape, first.dtype)
    return tf.data.Dataset.from_generator(lambda: iter(batches), output_signature=spec)


def run(spec):
    rng = common.start(spec["name"])
    layer = spec["layer"]()
    before = common.serialize(layer)
    if spec["adapt"] is not None:
        layer.adapt(spec["adapt"])
    if spec["batches"] is not None:
        layer.adapt(dataset(spec["batches"]))
    inputs = [common.normal(rng, x) if isinstance(x, tuple) else x for x in spec["inputs"]]
    calls = []
    for given in inputs:
        several = isinstance(given, list)
        tensors = [tf.constant(x) for x in (given if several else [given])]
        if spec["call"]:
            output = spec["call"](layer, *tensors)
        else:
            output = layer(tensors if several else tensors[0])
        calls.append({"inputs": [common.tensor(x) for x in (given if several else [given])],
                      "output": common.tensor(output)})
    result = {
        "name": spec["name"],
        "before": before,
        "adapt": None if spec["adapt"] is None else common.tensor(spec["adapt"]),
        "batches": None if spec["batches"] is None else [common.tensor(x) for x in spec["batches"]],
        "object": common.serialize(layer),
        "calls": calls,
        "weights": [common.variable(weight) for weight in layer.weights],
    }
    if hasattr(layer, "get_vocabulary"):
        result["vocabulary"] = [common.text(x) for x in layer.get_vocabulary()]
        result["tokens"] = [common.text(x) for x in layer.get_vocabulary(include_special_tokens=False)]
    return result


def make():
    groups = [
        normalization_cases,
        discretization_cases,
        category_encoding_cases,
        hashing_cases,
        hashed_crossing_cases,
        string_lookup_cases,
        integer_lookup_cases,
        text_vectorization_cases,
        mel_spectrogram_cases,
    ]
    return [run(spec) for group in groups for spec in group()]
