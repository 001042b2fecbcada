# SPDX-License-Identifier: Apache-2.0
"""Two workers whose programs differ in one thing: both report what differs, and each one's value.

usage: differs_test.py DIFFERS
"""
import os
import re
import subprocess
import sys
import tempfile

from elastic_test import Workers

END = ". All workers must run the same program with the same options and data."
DIFFERENT = "Strategy 'MultiWorkerMirroredStrategy': every worker must make the same collective " \
            "calls in the same order, but call "
STEPS = "Strategy 'MultiWorkerMirroredStrategy': every worker must run the same steps in the same " \
        "order, but worker "
# What differs on worker 1, and what both report.
CASES = {
    "activation": 'fit: worker 1 has "tanh" at config.layers[1].config.activation of the model, '
                  'worker 0 has "relu"' + END,
    "rate": "fit: worker 1 has 0.25 at config.layers[2].config.rate of the model, worker 0 has 0.5"
            + END,
    "layers": "fit: worker 1 has 5 elements at config.layers of the model, worker 0 has 4 elements; "
              "the number of weights of worker 1 is 23, that of worker 0 is 21" + END,
    "loss": 'fit: the loss of worker 1 is "mae", that of worker 0 is "mse"' + END,
    "metrics": 'fit: worker 1 has "mse" at [0] of the metrics, worker 0 has "mae"' + END,
    "optimizer": "fit: the learning rate of worker 1 is 0.2, that of worker 0 is 0.1" + END,
    "steps": "fit: the steps_per_execution of worker 1 is 2, that of worker 0 is 1" + END,
    "weights": "fit: worker 1 has 2.0 at 0 of the class_weight, worker 0 has nothing" + END,
    "validation": "fit: the number of validation steps of worker 1 is 2, that of worker 0 is null; "
                  "worker 1 has 1 element in the list of epochs with a validation, worker 0 has 0 "
                  "elements",
    "callbacks": "fit: worker 1 has 1 element in the list of callbacks that keep the state, worker 0 "
                 "has 0 elements" + END,
    "rows": 'fit: worker 1 has "crc32c [0-9a-f]{8}" at x[0] of the checksums of the arrays, worker 0 '
            'has "crc32c [0-9a-f]{8}"' + END,
    "map": "fit: worker 1 has ",
    "contents": "fit: worker 1 has ",
    "batch": "fit: the number of steps of an epoch of worker 1 is 4, that of worker 0 is 2; the dataset "
             'of worker 1 is "arrays(float32 (8, 3), float32 (8, 1)) | shuffle | batch(2)", that of '
             'worker 0 is "arrays(float32 (8, 3), float32 (8, 1)) | shuffle | batch(4)"' + END,
    "batch of a dataset": "; the number of batches of worker 1 is 4, that of worker 0 is 2; worker 1 "
                          "has 2 at [1].config.batch_size of the pipeline, worker 0 has 4" + END,
    "policy": 'the AutoShardPolicy of worker 1 is "Off", that of worker 0 is "Auto"' + END,
    "evaluate": 'evaluate: worker 1 has "crc32c [0-9a-f]{8}" at x[0] of the checksums of the arrays, '
                'worker 0 has "crc32c [0-9a-f]{8}"' + END,
    "reduce shape": DIFFERENT + "1 of the step 'loop' on worker 1 is all_reduce (sum) of float32 "
                    "(3, 2); expected all_reduce (sum) of float32 (2, 3), as on worker 0.",
    "gather shape": DIFFERENT + "1 of the step 'loop' on worker 1 is all_gather along axis 0 of "
                    "float32 (3, 2); expected all_gather along axis 0 of float32 (2, 3), as on "
                    "worker 0.",
    "gather size": DIFFERENT + "1 of the step 'loop' on worker 1 is all_gather along axis 0 of "
                   "float32 (4, 3); expected all_gather along axis 0 of float32 (2, 3), as on "
                   "worker 0.",
    "gather axis": DIFFERENT + "1 of the step 'loop' on worker 1 is all_gather along axis 1 of "
                   "float32 (2, 3); expected all_gather along axis 0 of float32 (2, 3), as on "
                   "worker 0.",
    "gather dtype": DIFFERENT + "1 of the step 'loop' on worker 1 is all_gather along axis 0 of "
                    "int32 (2, 3); expected all_gather along axis 0 of float32 (2, 3), as on "
                    "worker 0.",
    "gather order": DIFFERENT + "1 of the step 'loop' on worker 1 is all_gather along axis 0 of "
                    "float32 (3, 2); expected all_gather along axis 0 of float32 (2, 3), as on "
                    "worker 0.",
    "step": STEPS + "1 runs the step 'discriminator', and worker 0 'generator'.",
    "step order": STEPS + "1 runs the step 'loop', as before, and worker 0 the 'loop' that it ran "
                  "before 1 other.",
}
# How each worker names the other's call and its own.
EXCHANGES = {"operation": ("reduce (sum)", "reduce (max)"),
             "axis": ("reduce (sum) along axis 0", "reduce (sum) along axis 1"),
             "one gathers": ("reduce (sum)", "gather along axis 0"),
             "values, then others": ("reduce (sum) along axis 0",
                                     "reduce (sum) (behind 1 of its own that failed)")}
# One worker rejects its own arguments, and the other is notified.
TOLD = {"argument": ("fit: expected epochs and initial_epoch >= 0, got -1 and 0.",
                     "fit: worker 1 has stopped: fit: expected epochs and initial_epoch >= 0"),
        "callback": ("http: no answer", ") has stopped: http: no answer")}
# Failures of worker 1 alone: its message, and the text after which the other repeats that message.
FAILING = {"trace": ("InvalidArgument: matmul: ", "can't run the step 'loop': "),
            "values": ("InvalidArgument: Strategy '[^']+': reduce along axis 0 expected tensors with "
                       "axes, got a scalar of replica 0. Omit the axis.",
                       "can't reduce its values: "),
            "read": ("OutOfRange: ", "can't read its next batch: "),
            "trace of fit": ("InvalidArgument: Metric 'odd': reshape: ",
                             "can't run the step 'train_step': ")}


def outputs(program, what, folder):
    job = Workers(program, what, 2, folder, os.path.join(folder, what))
    job.line, job.output_argument = [program, what], []
    processes = [job.start(index, folder, stderr=subprocess.PIPE) for index in range(2)]
    said = [process.communicate(timeout=120) for process in processes]
    job.close()
    for process, (output, errors) in zip(processes, said):
        assert process.returncode in (0, 75), (what, process.returncode, output, errors)
    return [output for output, _ in said], said


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for what, expected in CASES.items():
            texts, said = outputs(program, what, folder)
            pattern = re.escape(expected).replace(re.escape("[0-9a-f]{8}"), "[0-9a-f]{8}")
            for text in texts:
                assert re.search(pattern, text), (what, expected, said)
                assert len(text) < 1200, (what, text)
                assert ("What is gathered must" in text) == expected.startswith(DIFFERENT), said
            print(f"{what}: {texts[0].strip()[:160]}")
        for what, (own, behind) in FAILING.items():
            (other, first), said = outputs(program, what, folder)
            kind, text = first.splitlines()[0].split(": ", 1)
            assert re.match(own, first), (what, said)
            told = f"{kind}: (Sequential 'sequential': )?Cluster: worker 1 \\(127.0.0.1:\\d+\\) {behind}"
            assert re.fullmatch(told + re.escape(text), other.splitlines()[0]), (what, said)
        for what, calls in EXCHANGES.items():
            texts, said = outputs(program, what, folder)
            for own, text in enumerate(texts):
                expected = f"worker {1 - own} exchanges {calls[1 - own]}, and worker {own} {calls[own]}."
                was_told = what.startswith("values") and "can't reduce its values: " in text
                assert expected in text or was_told or "has stopped: Collective: " in text, (what, said)
                assert "reduced" not in text, (what, said)
        texts, said = outputs(program, "steps of threads", folder)
        for text in texts:
            assert "Strategy 'MultiWorkerMirroredStrategy': another thread of this worker runs " \
                   "steps, or reduces, gathers or reads batches, too." in text, said
        texts, said = outputs(program, "trace alike", folder)
        for text in texts:
            assert re.fullmatch("(InvalidArgument: matmul: [^\n]*\n)(\\1)6\nalike\n", text), said
        for what in ["names", "folder", "optimizer name", "later rate", "overwrite", "predict"]:
            texts, said = outputs(program, what, folder)
            assert texts == ["alike\n"] * 2, (what, said)
        results = []
        for changed in range(2):
            texts, said = outputs(program, f"weights of {changed}", folder)
            assert texts[0] == texts[1] and texts[0].endswith("alike\n"), said
            results.append(texts[0])
            for _, errors in said:
                told = "evaluate: worker 1 has other values of 'sequential/dense/kernel' and 3 more than worker 0, " \
                       "which all take. What sets weights between calls"
                assert errors.count("has other values of") == errors.count(told) == 1, errors
        assert results[0] != results[1], results
        for what, expected in TOLD.items():
            texts, said = outputs(program, what, folder)
            assert expected[0] in texts[1] and expected[1] in texts[0], (what, said)
        texts, said = outputs(program, "threads", folder)
        for text in texts:
            assert "evaluate: another thread of this worker is in a call of fit or evaluate." in text, said
            assert text.endswith("alike\n"), said


if __name__ == "__main__":
    main()
