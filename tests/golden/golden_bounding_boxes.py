# SPDX-License-Identifier: Apache-2.0
"""Functions on bounding boxes, and image layers on dictionaries with boxes, labels and masks.

Layers are those whose random range is one number. Left out are those that in Keras 3.15 don't do
what they document: RandomCrop (it exchanges x and y), RandomShear (its boxes don't follow the
pixels), RandomRotation with formats other than "xyxy" (it takes them for that), RandomPerspective
(its result is always "xyxy"), MixUp (labels don't follow the boxes), and masks in a CenterCrop of
smaller images (their classes are averaged).
"""

import common
import numpy as np
from keras import layers
from keras.utils import bounding_boxes as functions

FORMATS = ("xyxy", "yxyx", "xywh", "center_xywh", "center_yxhw", "rel_xyxy", "rel_yxyx", "rel_xywh",
           "rel_center_xywh")
HEIGHT, WIDTH = 10, 16


def boxes_of(rng, *shape, height=HEIGHT, width=WIDTH, format="xyxy"):
    """Boxes within an image."""
    start = common.uniform(rng, (*shape, 2), 0, 0.7)
    corners = np.concatenate([start, start + common.uniform(rng, (*shape, 2), 0.05, 0.3)], -1)
    boxes = (corners * np.array([width, height, width, height])).astype("float32")
    boxes = functions.convert_format(boxes, "xyxy", format, height=height, width=width)
    return np.round(np.array(boxes), 3)


def call(name, function, inputs, **arguments):
    output = getattr(functions, function)(*inputs, **arguments)
    result = {"name": name, "function": function, "inputs": [common.tensor(x) for x in inputs],
              "arguments": arguments}
    if isinstance(output, dict):
        return result | {"output": common.tensor(output["boxes"]),
                         "labels": common.tensor(output["labels"])}
    return result | {"output": common.tensor(output)}


def conversions(rng):
    size = {"height": 12, "width": 20}
    for source in FORMATS:
        for target in FORMATS:
            yield call(f"convert_{source}_{target}", "convert_format",
                       [common.uniform(rng, (2, 3, 4), -1, 9)], source=source, target=target,
                       **size)
    yield call("convert_without_size", "convert_format", [np.array([[1, 2, 3, 5]])],
               source="XYXY", target="center_xyWH")
    yield call("convert_double", "convert_format", [np.array([1.5, 2, 3, 5])], source="rel_yxyx",
               target="rel_xywh", dtype="float64", **size)


def clips(rng):
    boxes = common.uniform(rng, (2, 4, 4), -6, 22)
    labels = np.arange(8, dtype="int32").reshape(2, 4)
    for name, format, scale in (("xyxy", "xyxy", 1), ("rel", "rel_xyxy", 16)):
        given = {"boxes": boxes / scale, "labels": labels}
        output = functions.clip_to_image_size(dict(given), height=HEIGHT, width=WIDTH,
                                              bounding_box_format=format)
        yield {"name": f"clip_{name}", "function": "clip_to_image_size",
               "inputs": [common.tensor(given["boxes"]), common.tensor(labels)],
               "arguments": {"height": HEIGHT, "width": WIDTH, "bounding_box_format": format},
               "output": common.tensor(output["boxes"]),
               "labels": common.tensor(output["labels"])}


def geometry(rng):
    def each(*values):
        return np.array(values, "float32")

    boxes = boxes_of(rng, 2, 3)
    size = {"height": HEIGHT, "width": WIDTH}
    plain = {"angle": each(0, 0), "translate_x": each(0, 0), "translate_y": each(0, 0),
             "scale": each(1, 1), "shear_x": each(0, 0), "shear_y": each(0, 0)}
    for name, given in (("angle", {"angle": each(30, -75)}),
                        ("translation", {"translate_x": each(0.1, -0.3),
                                         "translate_y": each(0.2, 0.05)}),
                        ("scale", {"scale": each(0.5, 2)}),
                        ("shear", {"shear_x": each(20, -10), "shear_y": each(5, 40)}),
                        ("all", {"angle": each(30, -75), "translate_x": each(0.1, -0.3),
                                 "scale": each(0.5, 2), "shear_x": each(20, -10),
                                 "shear_y": each(5, 40), "center_x": 0.2, "center_y": 0.7})):
        arguments = plain | size | given
        output = functions.affine_transform(boxes, **arguments)
        yield {"name": f"affine_{name}", "function": "affine_transform",
               "inputs": [common.tensor(boxes)], "output": common.tensor(output),
               "arguments": {key: value.tolist() if isinstance(value, np.ndarray) else value
                             for key, value in arguments.items()}}
    yield call("crop", "crop", [common.uniform(rng, (2, 3, 4), -2, 15)], top=1, left=3, height=6,
               width=9)
    yield call("pad", "pad", [boxes], top=2, left=5)


def overlaps(rng):
    a, b = boxes_of(rng, 2, 3), boxes_of(rng, 2, 4)
    yield call("iou", "compute_iou", [a, b], bounding_box_format="xyxy")
    yield call("iou_of_one_image", "compute_iou", [a[0], b[0]], bounding_box_format="xywh")
    yield call("iou_of_batch_and_one", "compute_iou", [a, b[1]], bounding_box_format="yxyx")
    yield call("iou_of_one_and_batch", "compute_iou", [a[1], b], bounding_box_format="center_xywh")
    yield call("iou_relative", "compute_iou", [a / 16, b / 16], bounding_box_format="rel_xyxy",
               image_shape=[HEIGHT, WIDTH, 3])
    padded = np.concatenate([a, -np.ones((2, 1, 4), "float32")], 1)
    yield call("iou_masked", "compute_iou", [padded, b], bounding_box_format="xyxy",
               use_masking=True, mask_val=-2)
    yield call("iou_masked_second", "compute_iou", [b, padded], bounding_box_format="xyxy",
               use_masking=True)
    shifted = np.array([[-5, -5, 3, 3], [-4, -4, 9, 2]], "float32")
    yield call("iou_masked_corners", "compute_iou", [shifted, np.concatenate([shifted, b[0]])],
               bounding_box_format="xywh", use_masking=True)
    yield call("ciou", "compute_ciou", [a, b[:, :3]], bounding_box_format="xyxy")
    yield call("ciou_equal", "compute_ciou", [a, a], bounding_box_format="xywh")


def deltas(rng):
    anchors, boxes = boxes_of(rng, 3), boxes_of(rng, 2, 3)
    relative = boxes_of(rng, 2, 3, format="rel_xywh")
    for function, last in (("encode_box_to_deltas", "encoding_format"),
                           ("decode_deltas_to_boxes", "encoded_format")):
        yield call(f"{function}_plain", function, [anchors, boxes], anchor_format="xyxy",
                   box_format="xyxy")
        yield call(f"{function}_variance", function, [anchors, boxes[0]], anchor_format="xywh",
                   box_format="yxyx", variance=[0.1, 0.1, 0.2, 0.3], **{last: "center_xywh"})
        yield call(f"{function}_relative", function, [anchors, relative], anchor_format="xyxy",
                   box_format="rel_xywh", image_shape=[HEIGHT, WIDTH, 3])


def layer_cases():
    for format in FORMATS:
        yield f"translation_{format}", lambda format=format: layers.RandomTranslation(
            (0.2, 0.2), (-0.25, -0.25), fill_mode="constant", bounding_box_format=format), {}
    yield "rotation", lambda: layers.RandomRotation((0.1, 0.1), bounding_box_format="xyxy"), {}
    yield "rotation_back", lambda: layers.RandomRotation(
        (-0.3, -0.3), fill_mode="constant", fill_value=2.0, bounding_box_format="xyxy"), {}
    for name, factors in (("in", [(-0.4, -0.4)]), ("out", [(0.5, 0.5)]),
                          ("both", [(0.3, 0.3), (-0.5, -0.5)])):
        yield f"zoom_{name}", lambda factors=factors: layers.RandomZoom(
            *factors, bounding_box_format="xywh"), {}
    for height, width in ((6, 8), (9, 7), (14, 5), (20, 24)):
        yield f"center_crop_{height}_{width}", lambda height=height, width=width: \
            layers.CenterCrop(height, width, bounding_box_format="rel_xyxy"), \
            {"masks": "uint8" if height < HEIGHT else None}
    for height, width in ((5, 8), (20, 8), (7, 7)):
        for how in ("", "crop", "pad"):
            options = {f"{how}_to_aspect_ratio": True} if how else {}
            yield f"resizing_{height}_{width}_{how}", \
                lambda height=height, width=width, options=options: layers.Resizing(
                    height, width, bounding_box_format="center_xywh", **options), \
                {"masks": "float32"}
    yield "resizing_padded_boxes", lambda: layers.Resizing(5, 8, bounding_box_format="xyxy"), \
        {"padded": True}
    yield "invert", lambda: layers.RandomInvert((1, 1), bounding_box_format="xywh"), {}
    yield "single", lambda: layers.RandomTranslation((0.2, 0.2), (0.5, 0.5),
                                                     bounding_box_format="xyxy"), {"single": True}
    yield "inference", lambda: layers.RandomZoom(0.5, bounding_box_format="yxyx"), \
        {"training": False}


def entries(rng, format, single=False, padded=False, masks="uint8"):
    boxes = boxes_of(rng, 2, 3, format=format or "xyxy")
    if padded:
        boxes[0, 2], boxes[1, 1] = -1, 0
    data = {"images": common.uniform(rng, (2, HEIGHT, WIDTH, 3), 0, 9),
            "bounding_boxes": {"boxes": boxes,
                               "labels": np.array([[1, 2, 3], [4, 5, 0]], "int32")},
            "labels": np.array([3, 1], "int32")}
    if masks:
        data["segmentation_masks"] = rng.integers(0, 5, (2, HEIGHT, WIDTH, 1)).astype(masks)
    if single:
        return {key: {k: v[0] for k, v in value.items()} if isinstance(value, dict) else value[0]
                for key, value in data.items()}
    return data


def by_path(data):
    result = {}
    for key, value in data.items():
        if isinstance(value, dict):
            result |= {f"{key}/{name}": common.tensor(x) for name, x in value.items()}
        else:
            result[key] = common.tensor(value)
    return result


def run_layer(name, make_layer, training=True, **options):
    rng = common.start(name)
    layer = make_layer()
    config = common.serialize(layer)
    data = entries(rng, layer.bounding_box_format, **options)
    given = by_path(data)
    return {"name": name, "object": config, "training": training, "inputs": given,
            "outputs": by_path(layer(data, training=training))}


def make():
    rng = common.start("bounding_boxes")
    cases = [case for group in (conversions, clips, geometry, overlaps, deltas)
             for case in group(rng)]
    return cases + [run_layer(name, layer, **options) for name, layer, options in layer_cases()]
