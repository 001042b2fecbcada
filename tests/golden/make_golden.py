# SPDX-License-Identifier: Apache-2.0
"""Makes the golden values of tests/golden/data with real Keras.

Usage: python tests/golden/make_golden.py [group...]

Without arguments, all groups are made. README.md describes the contents of each.
"""

import importlib
import sys

import common

GROUPS = {
    "layers": "golden_layers",
    "policies": "golden_policies",
    "quantization": "golden_quantization",
    "losses": "golden_losses",
    "metrics": "golden_metrics",
    "optimizers": "golden_optimizers",
    "schedules": "golden_schedules",
    "regularizers_constraints_initializers": "golden_misc",
    "activations": "golden_activations",
    "ops": "golden_ops",
    "op_models": "golden_op_models",
    "op_modules": "golden_op_modules",
    "layer_orders": "golden_layer_orders",
    "surface": "golden_surface",
    "namespaces": "golden_namespaces",
    "signatures": "golden_signatures",
    "loops": "golden_loops",
    "models": "golden_models",
    "progbar": "golden_progbar",
    "callbacks": "golden_callbacks",
    "trainer": "golden_trainer",
    "distillation": "golden_distillation",
    "keras_files": "golden_files",
    "legacy_models": "golden_legacy",
    "numpy": "golden_numpy",
    "images": "golden_images",
    "image_layers": "golden_image_layers",
    "bounding_boxes": "golden_bounding_boxes",
    "preprocessing": "golden_preprocessing",
    "sequence_examples": "golden_examples",
    "dictionaries": "golden_dictionaries",
    "applications": "golden_applications",
    "application_families": "golden_application_families",
}


def main():
    groups = sys.argv[1:] or list(GROUPS)
    unknown = [group for group in groups if group not in GROUPS]
    if unknown:
        sys.exit(f"Unknown groups {unknown}. Known groups: {', '.join(GROUPS)}")
    for group in groups:
        cases = importlib.import_module(GROUPS[group]).make()
        path = common.write_group(group, cases)
        print(f"{group}: {len(cases)} cases, {path.stat().st_size / 1024:.1f} KiB")


if __name__ == "__main__":
    main()
