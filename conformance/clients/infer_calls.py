"""Inference as all four clients have it."""

import concurrent.futures

import numpy as np
import tritonclient.utils as utils

from report import contains, failure, same, same_array
from tensors import ONES, RAMP, addends, numbers, strings


def run(kit, report):
    inference(kit, report)
    compression(kit, report)
    many(kit, report)
    datatypes(kit, report)
    classification(kit, report)
    sequences(kit, report)


def inference(kit, report):
    client = kit.client
    with report.check("infer, tensors as bytes"):
        result = client.infer(
            "simple", addends(kit), outputs=[kit.output("OUTPUT0"), kit.output("OUTPUT1")]
        )
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
        same_array(result.as_numpy("OUTPUT1"), RAMP - ONES)
    if kit.protocol == "http":
        with report.check("infer, tensors as JSON"):
            result = client.infer(
                "simple",
                addends(kit, binary=False),
                outputs=[kit.output("OUTPUT0", binary=False), kit.output("OUTPUT1", binary=False)],
            )
            same_array(result.as_numpy("OUTPUT1"), RAMP - ONES)
        with report.check("infer, one tensor as JSON and one as bytes, in both directions"):
            inputs = [kit.input("INPUT0", RAMP, "INT32", False), kit.input("INPUT1", ONES, "INT32", True)]
            outputs = [kit.output("OUTPUT0", binary=True), kit.output("OUTPUT1", binary=False)]
            result = client.infer("simple", inputs, outputs=outputs)
            same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
            same_array(result.as_numpy("OUTPUT1"), RAMP - ONES)
    with report.check("infer without naming outputs"):
        result = client.infer("simple", addends(kit))
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
        same_array(result.as_numpy("OUTPUT1"), RAMP - ONES)
    with report.check("infer, one output of two"):
        result = client.infer("simple", addends(kit), outputs=[kit.output("OUTPUT1")])
        same(result.as_numpy("OUTPUT0"), None)
        same_array(result.as_numpy("OUTPUT1"), RAMP - ONES)
    with report.check("infer, a batch and a version"):
        left = np.arange(48, dtype=np.int32).reshape(3, 16)
        result = client.infer("simple", addends(kit, left, left), model_version="1")
        same_array(result.as_numpy("OUTPUT0"), left + left)
    with report.check("infer, the same objects again"):
        inputs = addends(kit)
        for right in [ONES, RAMP]:
            if kit.protocol == "http":
                inputs[1].set_data_from_numpy(right, binary_data=right is ONES)
            else:
                inputs[1].set_data_from_numpy(right)
            same_array(client.infer("simple", inputs).as_numpy("OUTPUT0"), RAMP + right)
    with report.check("infer with an id, a priority, a timeout and parameters"):
        result = client.infer(
            "simple",
            addends(kit),
            request_id="seven",
            priority=0,
            timeout=10_000_000,
            parameters={"text": "a", "number": 5, "truth": True},
        )
        same(kit.request_id(result), "seven")
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("infer with headers"):
        result = client.infer("simple", addends(kit), headers={"x-mine": "1"})
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("infer, 16 MB there and back"):
        wide = np.random.default_rng(1).random((1, 4 * 2**20), dtype=np.float32)
        result = client.infer("identity_fp32", [kit.input("INPUT0", wide, "FP32")])
        same_array(result.as_numpy("OUTPUT0"), wide)


def compression(kit, report):
    wide = np.arange(4096, dtype=np.float32).reshape(1, 4096)
    ways = [("gzip",), ("deflate",)]
    if kit.protocol == "http":
        ways += [("gzip", "deflate"), ("deflate", "gzip")]
    for way in ways:
        with report.check(f"infer, compressed by {' there and '.join(way)}{' back' if len(way) > 1 else ''}"):
            result = kit.client.infer(
                "identity_fp32", [kit.input("INPUT0", wide, "FP32")], **kit.compression(*way)
            )
            same_array(result.as_numpy("OUTPUT0"), wide)


def many(kit, report):
    with report.check("infer, 64 at once"):
        lefts = [np.full((1, 16), index, dtype=np.int32) for index in range(64)]
        results = kit.together([("simple", addends(kit, left), {}) for left in lefts])
        for left, result in zip(lefts, results):
            if isinstance(result, Exception):
                raise result
            same_array(result.as_numpy("OUTPUT0"), left + ONES)
    with report.check("infer, 8 clients in as many threads"):

        def use(index):
            kit_of_thread = kit.another()
            left = np.full((1, 16), index, dtype=np.int32)
            sums = [kit_of_thread.client.infer("simple", addends(kit_of_thread, left)) for _ in range(5)]
            kit_of_thread.close()
            return [one.as_numpy("OUTPUT0")[0][0] for one in sums]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            same(list(pool.map(use, range(8))), [[index + 1] * 5 for index in range(8)])


def datatypes(kit, report):
    client = kit.client

    def echo(model, array, datatype, binary=True):
        outputs = [kit.output("OUTPUT0", binary)]
        result = client.infer(model, [kit.input("INPUT0", array, datatype, binary)], outputs=outputs)
        return result.as_numpy("OUTPUT0")

    ways = [True, False] if kit.protocol == "http" else [True]
    for binary in ways:
        way = "as bytes" if binary else "as JSON"
        with report.check(f"strings that are numbers, {way}"):
            result = client.infer(
                "simple_string", addends(kit, strings(RAMP), strings(ONES), "BYTES", binary=binary),
                outputs=[kit.output("OUTPUT0", binary), kit.output("OUTPUT1", binary)],
            )
            same_array(numbers(result.as_numpy("OUTPUT0")), RAMP + ONES)
            same_array(numbers(result.as_numpy("OUTPUT1")), RAMP - ONES)
        with report.check(f"strings empty, long and of any language, {way}"):
            texts = np.array([["", "ä€😀", "x" * 70_000]], dtype=np.object_)
            answer = echo("identity_bytes", texts, "BYTES", binary)
            same([text if isinstance(text, str) else text.decode() for text in answer[0]], list(texts[0]))
        with report.check(f"INT64 beyond what a float holds, {way}"):
            large = np.array([[2**53 + 1, -(2**63), 2**63 - 1]], dtype=np.int64)
            same_array(echo("identity_int64", large, "INT64", binary), large)
        with report.check(f"BOOL, {way}"):
            truth = np.array([[True, False, True]])
            same_array(echo("identity_bool", truth, "BOOL", binary), truth)
    with report.check("strings with bytes that are no text, through a model in JavaScript"):
        blobs = np.array([[b"\xff\x00\xfe", b""]], dtype=np.object_)
        same(list(echo("simple_identity", blobs, "BYTES")[0]), list(blobs[0]))
    with report.check("FP16"):
        half = np.array([[0.5, -2, 65504, 6e-8]], dtype=np.float16)
        same_array(echo("identity_fp16", half, "FP16"), half)
    with report.check("BF16"):
        values = np.array([[0.5, -2, 3.0e38]], dtype=np.float32)
        if hasattr(utils, "serialize_bf16_tensor") and utils.triton_to_np_dtype("BF16") == np.float32:
            brain = values
        else:
            brain = values.astype(utils.triton_to_np_dtype("BF16"))
        answer = echo("identity_bf16", brain, "BF16").astype(np.float32)
        if not np.allclose(answer, values, rtol=0.01):
            raise AssertionError(f"{answer!r}")
    with report.check("INT8"):
        left, right = RAMP.astype(np.int8), ONES.astype(np.int8)
        result = client.infer("simple_int8", addends(kit, left, right, "INT8"))
        same_array(result.as_numpy("OUTPUT0"), left + right)
    with report.check("an empty tensor"):
        empty = np.zeros((1, 0), dtype=np.float32)
        same_array(echo("identity_fp32", empty, "FP32"), empty)


def classification(kit, report):
    with report.check("infer, the two likeliest classes with their labels"):
        features = np.array([[0.1, 0.7, 0.2, 0.4]], dtype=np.float32)
        inputs = [kit.input("FEATURES", features, "FP32")]
        scores = kit.client.infer("classifier", inputs).as_numpy("SCORES")[0]
        result = kit.client.infer("classifier", inputs, outputs=[kit.output("SCORES", class_count=2)])
        classes = result.as_numpy("SCORES")
        same(classes.shape, (1, 2))
        likeliest = sorted(range(len(scores)), key=lambda index: -scores[index])[:2]
        texts = [text if isinstance(text, str) else text.decode() for text in classes[0]]
        same([int(text.split(":")[1]) for text in texts], likeliest)
        same([len(text.split(":")) for text in texts], [3, 3])


def sequences(kit, report):
    def step(model, value, sequence_id, **marks):
        inputs = [kit.input("INPUT", np.array([[value]], dtype=np.int32), "INT32")]
        result = kit.client.infer(model, inputs, sequence_id=sequence_id, **marks)
        return int(result.as_numpy("OUTPUT")[0][0])

    values = [11, 7, 5, 3, 2, 0, 1]

    def interleaved(model, first, second, at_the_end):
        for index, value in enumerate(values):
            marks = {"sequence_start": index == 0, "sequence_end": index == len(values) - 1}
            start = 1 if index == 0 else 0
            for sequence_id, sign in [(first, 1), (second, -1)]:
                end = at_the_end(sequence_id) if marks["sequence_end"] else 0
                same(step(model, sign * value, sequence_id, **marks), sign * value + start + end)

    with report.check("two sequences, interleaved"):
        interleaved("simple_sequence", 1000, 1001, lambda _: 0)
    with report.check("sequences with texts as ids"):
        interleaved("simple_sequence", "9f4e", "77aa", lambda _: 0)
    with report.check("two sequences of the strategy oldest"):
        interleaved("simple_dyna_sequence", 1002, 1003, lambda sequence_id: sequence_id)
    with report.check("a sequence that nobody began"):
        error = failure(step, "simple_sequence", 1, 4242)
        contains(str(error), "must specify the START flag on the first request of the sequence")
    with report.check("a request without a sequence to a model of sequences"):
        error = failure(step, "simple_sequence", 1, 0)
        contains(str(error), "must specify a non-zero or non-empty correlation ID")
