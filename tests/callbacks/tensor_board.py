# SPDX-License-Identifier: Apache-2.0
"""Reads Cornu's logs with TensorBoard, and compares them with those of Keras and TensorFlow.

tensor_board.py compare FOLDER UPDATE_FREQ...: FOLDER has a folder for each UPDATE_FREQ, with the
untrained model in model.keras and the log_dir of its training in cornu.
tensor_board.py own FOLDER: FOLDER/cornu has a program's own records.
tensor_board.py projector FOLDER: FOLDER has a model.keras, and logs of its training with
embeddings.
tensor_board.py histograms FOLDER: FOLDER has one event file, with histograms "h" by step.
tensor_board.py profile FOLDER: FOLDER is the log_dir of a training with batches 3 to 5 profiled.
"""

import glob
import gzip
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import keras
import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing import event_accumulator, plugin_event_accumulator
from tensorboard.plugins.graph.keras_util import keras_model_to_graph_def
from tensorboard.util.tensor_util import make_ndarray

ROWS = 20


def scattered(*shape):
    numbers = np.arange(np.prod(shape), dtype="int32") * 37 % 101
    return (numbers.astype("float32") / np.float32(50) - np.float32(1)).reshape(shape)


def rows():
    return scattered(ROWS, 6)


def labels():
    return np.arange(ROWS, dtype="int32") % 3


def read(folder, reader=event_accumulator):
    accumulator = reader.EventAccumulator(folder, size_guidance={"tensors": 0})
    accumulator.Reload()
    return accumulator


def metadata(folder):
    """Returns the metadata that TensorBoard's plugins see, by tag; this reader upgrades older
    files."""
    accumulator = read(folder, plugin_event_accumulator)
    return {tag: accumulator.SummaryMetadata(tag) for tag in accumulator.Tags()["tensors"]}


def series(accumulator):
    """Returns lists of arrays by tag and step."""
    result = {}
    for tag in accumulator.Tags()["tensors"]:
        steps = result.setdefault(tag, {})
        for event in accumulator.Tensors(tag):
            steps.setdefault(event.step, []).append(make_ndarray(event.tensor_proto))
    return result


def train(folder, update_freq):
    model = keras.models.load_model(f"{folder}/model.keras")
    board = keras.callbacks.TensorBoard(
        f"{folder}/keras", histogram_freq=2, write_images=True, write_steps_per_second=True,
        update_freq=int(update_freq) if update_freq.isdigit() else update_freq)
    model.fit(rows(), labels(), batch_size=5, epochs=3, verbose=0, callbacks=[board], shuffle=False,
              validation_data=(rows()[:10], labels()[:10]), validation_batch_size=5)
    model.evaluate(rows(), labels(), batch_size=5, verbose=0, callbacks=[board])
    for writer in board._writers.values():  # which evaluate() leaves open
        writer.close()


def compare_histograms(found, wanted):
    assert found.shape == wanted.shape and found.dtype == wanted.dtype, (found, wanted)
    np.testing.assert_allclose(found[:, :2], wanted[:, :2], rtol=1e-5, atol=1e-5)
    assert found[:, 2].sum() == wanted[:, 2].sum(), (found, wanted)
    # A weight next to a bin edge may have been counted on the other side of it.
    assert np.abs(found[:, 2] - wanted[:, 2]).sum() <= 2, (found, wanted)


def compare_images(found, wanted):
    assert (found[:2] == wanted[:2]).all(), (found[:2], wanted[:2])
    assert len(found) == len(wanted)
    for ours, theirs in zip(found[2:], wanted[2:]):
        ours, theirs = (tf.io.decode_png(png).numpy().astype(int) for png in (ours, theirs))
        assert ours.shape == theirs.shape
        assert np.abs(ours - theirs).max() <= 1


def compare_models(found, wanted):
    ours, theirs = (keras_model_to_graph_def(json.loads(text.item())) for text in (found, wanted))
    assert len(ours.node) == 8, ours
    assert ours == theirs, (ours, theirs)


def compare_values(tag, found, wanted):
    if tag == "keras":
        compare_models(found, wanted)
    elif tag.endswith("/histogram"):
        compare_histograms(found, wanted)
    elif tag.endswith("/image"):
        compare_images(found, wanted)
    else:
        assert found.shape == wanted.shape == () and found.dtype == wanted.dtype == np.float32
        if tag.endswith("steps_per_second"):
            assert 0 < found < np.inf
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-4, err_msg=tag)


def compare_training(folder, update_freq):
    train(folder, update_freq)
    for part in ("train", "validation"):
        ours, theirs = f"{folder}/cornu/{part}", f"{folder}/keras/{part}"
        found, wanted = series(read(ours)), series(read(theirs))
        assert wanted
        complete = update_freq != "3"  # if 3 doesn't divide an epoch's batches, Keras omits some
        if complete:
            assert found.keys() == wanted.keys(), (found.keys(), wanted.keys())
        for tag, points in wanted.items():
            if complete or tag.startswith("batch_"):
                assert found[tag].keys() == points.keys(), (tag, found[tag].keys(), points.keys())
            for step, values in points.items():
                ours_at = found[tag][step]
                # Keras's evaluate() writes the model again, into train.
                assert len(ours_at) == len(values) or tag == "keras" or not complete, (tag, step)
                if values[0].dtype == np.float32:  # files of the same second come in any order
                    ours_at, values = sorted(ours_at), sorted(values)
                for our_value, value in zip(ours_at, values):
                    compare_values(tag, our_value, value)
        our_metadata = metadata(ours)
        for tag, theirs_of in metadata(theirs).items():
            assert our_metadata[tag] == theirs_of, (tag, our_metadata[tag], theirs_of)
        if not complete:
            assert list(found["epoch_loss"]) == [0, 1, 2]
            assert list(wanted["epoch_loss"]) == [2]
        if part == "train":
            nodes = {node.name: list(node.input) for node in read(ours).Graph().node}
            assert nodes["add"] == ["norm", "same"], nodes
            assert nodes["x"] == [] and len(nodes) == 8, nodes


def compare(folder, *update_freqs):
    for update_freq in update_freqs:
        compare_training(f"{folder}/{update_freq}", update_freq)


def histograms(folder):
    nan, inf = np.nan, np.inf
    cases = [scattered(10, 100),
             [-1.0, 0.0, 2.0], [2.5, 2.5, 2.5], 7.0, np.zeros((0, 3), "float32"),
             np.arange(31, dtype="int32"), [1.0, nan, 2.0], [1.0, inf, 2.0], [-inf, 1.0, 2.0],
             [inf, inf]]
    with tf.summary.create_file_writer(f"{folder}/tf").as_default():
        for step, case in enumerate(cases):
            tf.summary.histogram("h", case, step=step)
    found, wanted = series(read(folder))["h"], series(read(f"{folder}/tf"))["h"]
    assert list(found) == list(wanted) == list(range(len(cases)))
    for step, (theirs,) in wanted.items():
        (ours,) = found[step]
        np.testing.assert_allclose(ours[:, :2], theirs[:, :2], rtol=1e-14, atol=1e-15,
                                   err_msg=str(step))
        np.testing.assert_array_equal(ours[:, 2], theirs[:, 2], err_msg=str(step))


def own(folder):
    """The same records, written by tf.summary."""
    pictures = np.arange(5 * 4 * 3 * 3, dtype="uint8").reshape(5, 4, 3, 3)
    with tf.summary.create_file_writer(f"{folder}/tf").as_default():
        tf.summary.scalar("loss", 0.25, step=3)
        tf.summary.scalar("loss", 0.5, step=4)
        tf.summary.histogram("h", scattered(10, 100), step=1)
        tf.summary.image("bytes", pictures, step=2)
        tf.summary.image("floats", scattered(2, 3, 4, 1) / 2 + 0.5, step=2, max_outputs=5)
        tf.summary.text("words", "**bold**", step=5)
        tf.summary.text("lines", ["a", "b"], step=5)
    ours, theirs = f"{folder}/cornu", f"{folder}/tf"
    found, wanted = series(read(ours)), series(read(theirs))
    assert found.keys() == wanted.keys(), (found.keys(), wanted.keys())
    for tag, steps in wanted.items():
        assert found[tag].keys() == steps.keys(), tag
        for step, (theirs_at,) in steps.items():
            (ours_at,) = found[tag][step]
            if tag in ("bytes", "floats"):
                compare_images(ours_at, theirs_at)
            elif tag in ("words", "lines"):
                assert ours_at.shape == theirs_at.shape and (ours_at == theirs_at).all()
            else:
                np.testing.assert_allclose(ours_at, theirs_at, rtol=1e-6)
    our_metadata = metadata(ours)
    for tag, theirs_of in metadata(theirs).items():
        assert our_metadata[tag] == theirs_of, (tag, our_metadata[tag], theirs_of)


def projector(folder):
    """What TensorBoard's projector sees of the model's embeddings."""
    from google.protobuf import text_format
    from tensorboard.plugins.projector import metadata, projector_plugin
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    run = f"{folder}/logs/train"
    with open(f"{run}/{metadata.PROJECTOR_FILENAME}") as file:
        config = text_format.Parse(file.read(), ProjectorConfig())
    (embedding,) = config.embeddings
    assert embedding.metadata_path == "words.tsv"
    path = f"{run}/{embedding.tensor_path}"
    found = projector_plugin._read_tensor_tsv_file(path)
    model = keras.models.load_model(f"{folder}/model.keras")
    weight = model.get_layer("words").embeddings
    assert embedding.tensor_name.endswith(weight.path), (embedding.tensor_name, weight.path)
    np.testing.assert_array_equal(found, weight.numpy())


def profile(folder):
    """Converts a profile of steps by TensorFlow's converters, which the profile plugin calls."""
    from tensorflow.python.profiler.internal import _pywrap_profiler_plugin as plugin
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    (path,) = glob.glob(f"{folder}/train/plugins/profile/*/*.xplane.pb")
    space = xplane_pb2.XSpace()
    with open(path, "rb") as file:
        space.ParseFromString(file.read())
    (plane,) = space.planes
    assert plane.name == "/host:CPU"
    assert [line.name for line in plane.lines] == ["steps", "replica 0"]
    steps, replica = plane.lines
    assert [event.stats[1].int64_value for event in steps.events] == [3, 4, 5]
    assert all(event.duration_ps > 0 for event in steps.events)
    first, last = steps.events[0], steps.events[-1]
    for event in replica.events:
        assert first.offset_ps <= event.offset_ps <= last.offset_ps + last.duration_ps
    names = {plane.event_metadata[event.metadata_id].name for event in replica.events}
    assert "classifier/same/matmul_bias_act:matmul_bias_act" in names, names
    assert any(name.startswith("gradients/classifier/conv/") for name in names), names

    shown, good = plugin.xspace_to_tools_data([path], "trace_viewer", {})
    assert good and b"train 4" in shown
    table, good = plugin.xspace_to_tools_data([path], "framework_op_stats", {})
    assert good
    operations = {row["c"][3]["v"] for row in json.loads(table)[0]["rows"]}
    assert "classifier/same/matmul_bias_act" in operations, operations

    (path,) = glob.glob(f"{folder}/train/plugins/profile/*/*.trace.json.gz")
    with gzip.open(path, "rt") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in events if event["tid"] == 1] == ["step 3", "step 4", "step 5"]
    assert len(events) == len(steps.events) + len(replica.events)


if __name__ == "__main__":
    {"compare": compare, "histograms": histograms, "own": own, "profile": profile, "projector": projector}[sys.argv[1]](*sys.argv[2:])
