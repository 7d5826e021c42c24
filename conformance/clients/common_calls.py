"""What all four clients can do. The models are those that the set-up serves; see its list."""

import concurrent.futures
import json

import numpy as np
import tritonclient.utils as utils

from report import contains, failure, same, same_array, until
from tensors import ONES, RAMP, addends, numbers, strings


def run(kit, report):
    health(kit, report)
    metadata(kit, report)
    repository(kit, report)
    settings(kit, report)
    shared_memory(kit, report)
    inference(kit, report)
    datatypes(kit, report)
    classification(kit, report)
    sequences(kit, report)
    errors(kit, report)


def health(kit, report):
    client = kit.client
    with report.check("is_server_live"):
        same(client.is_server_live(), True)
    with report.check("is_server_ready"):
        same(client.is_server_ready(), True)
    with report.check("is_model_ready, with and without a version"):
        same(client.is_model_ready("simple"), True)
        same(client.is_model_ready("simple", "1"), True)
    with report.check("is_model_ready of what is not there"):
        for reference in [("nobody",), ("simple", "9")]:
            # gRPC has an error for it where HTTP has a status.
            if kit.protocol == "grpc":
                contains(str(failure(client.is_model_ready, *reference)), "unknown")
            else:
                same(client.is_model_ready(*reference), False)


def metadata(kit, report):
    with report.check("get_server_metadata"):
        told = kit.told("get_server_metadata")
        same(told["name"], "triton")
        for extension in ["classification", "sequence", "model_repository", "statistics", "binary_tensor_data"]:
            contains(told["extensions"], extension)
    with report.check("get_model_metadata"):
        told = kit.told("get_model_metadata", "simple")
        same((told["name"], told["versions"], told["platform"]), ("simple", ["1"], "onnxruntime_onnx"))
        same([one["name"] for one in told["inputs"]], ["INPUT0", "INPUT1"])
        same([int(size) for size in told["outputs"][0]["shape"]], [-1, 16])
    with report.check("get_model_metadata of an unknown model"):
        error = failure(kit.told, "get_model_metadata", "wrong_model_name")
        contains(str(error), "Request for unknown model: 'wrong_model_name' is not found")
    with report.check("get_model_config"):
        told = kit.told("get_model_config", "simple")
        config = told["config"] if kit.protocol == "grpc" else told
        same((config["name"], config["max_batch_size"]), ("simple", 8))
        same(config["input"][0]["data_type"], "TYPE_INT32")
    with report.check("get_inference_statistics of a model counts its requests"):

        def count():
            [told] = kit.told("get_inference_statistics", "simple")["model_stats"]
            return int(told.get("inference_count", 0))

        before = count()
        kit.client.infer("simple", addends(kit))
        same(count(), before + 1)
    with report.check("get_inference_statistics of all models"):
        told = kit.told("get_inference_statistics")
        contains([one["name"] for one in told["model_stats"]], "simple")


def repository(kit, report):
    client = kit.client

    def state(name):
        told = kit.told("get_model_repository_index")
        models = told["models"] if kit.protocol == "grpc" else told
        [found] = [one.get("state", "") for one in models if one["name"] == name]
        return found

    with report.check("get_model_repository_index"):
        same(state("simple"), "READY")
    with report.check("unload_model"):
        client.unload_model("classifier")
        until(lambda: state("classifier") == "UNAVAILABLE")
        if kit.protocol == "http":
            same(client.is_model_ready("classifier"), False)
    with report.check("load_model"):
        client.load_model("classifier")
        same(client.is_model_ready("classifier"), True)
        same(state("classifier"), "READY")
    with report.check("load_model of an unknown model"):
        error = failure(client.load_model, "wrong_model_name")
        contains(str(error), "failed to load 'wrong_model_name', failed to poll from model repository")
    with report.check("unload_model of an unknown model"):
        # Triton has nothing against it.
        client.unload_model("wrong_model_name", unload_dependents=True)
    with report.check("load_model with another config"):
        config = {"backend": "onnxruntime", "max_batch_size": 4}
        client.load_model("classifier", config=json.dumps(config))
        told = kit.told("get_model_config", "classifier")
        same((told["config"] if kit.protocol == "grpc" else told)["max_batch_size"], 4)
    with report.check("load_model with files in place of the repository's"):
        with open(f"{kit.models}/simple/1/model.onnx", "rb") as file:
            content = file.read()
        config = json.dumps({"backend": "onnxruntime", "max_batch_size": 8})
        client.load_model("brought_along", config=config, files={"file:1/model.onnx": content})
        result = client.infer("brought_along", addends(kit))
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
        client.unload_model("brought_along")
    with report.check("load_model with files and no config"):
        error = failure(client.load_model, "classifier", files={"file:1/model.onnx": b"x"})
        contains(str(error), "Load parameter 'config' must be specified for model file override")
    with report.check("load_model back as it was"):
        client.load_model("classifier")
        told = kit.told("get_model_config", "classifier")
        same((told["config"] if kit.protocol == "grpc" else told)["max_batch_size"], 8)


def settings(kit, report):
    def plain(told):
        """gRPC wraps each value."""
        if kit.protocol == "http":
            return told
        values = {}
        for name, wrapped in told.get("settings", {}).items():
            value = wrapped.get("value", next(iter(wrapped.values()), None))
            values[name] = value[0] if isinstance(value, list) and len(value) == 1 else value
        return values

    with report.check("get_trace_settings"):
        contains(plain(kit.told("get_trace_settings")), "trace_level")
    with report.check("update_trace_settings of the server, and back"):
        told = plain(kit.told("update_trace_settings", settings={"trace_rate": "7"}))
        same(told["trace_rate"], "7")
        told = plain(kit.told("update_trace_settings", settings={"trace_rate": None}))
        same(told["trace_rate"], "1000")
    with report.check("update_trace_settings of a model"):
        told = plain(kit.told("update_trace_settings", model_name="simple", settings={"trace_rate": "9"}))
        same(told["trace_rate"], "9")
        same(plain(kit.told("get_trace_settings"))["trace_rate"], "1000")
        kit.told("update_trace_settings", model_name="simple", settings={"trace_rate": None})
        same(plain(kit.told("get_trace_settings", model_name="simple"))["trace_rate"], "1000")
    with report.check("update_trace_settings with what is none"):
        error = failure(kit.told, "update_trace_settings", settings={"trace_rate": "often"})
        contains(str(error), "trace_rate")
    with report.check("get_log_settings"):
        same(plain(kit.told("get_log_settings"))["log_info"], True)
    with report.check("update_log_settings, and back"):
        told = plain(kit.told("update_log_settings", {"log_verbose_level": 1, "log_format": "ISO8601"}))
        same((int(told["log_verbose_level"]), told["log_format"]), (1, "ISO8601"))
        told = plain(kit.told("update_log_settings", {"log_verbose_level": 0, "log_format": "default"}))
        same((int(told.get("log_verbose_level", 0)), told["log_format"]), (0, "default"))


def shared_memory(kit, report):
    with report.check("shared memory: a status tells of none, and none can be registered"):
        for kind in ["system", "cuda"]:
            told = kit.told(f"get_{kind}_shared_memory_status")
            same(told if kit.protocol == "http" else told.get("regions", []), [])
        error = failure(kit.client.register_system_shared_memory, "region", "/region", 64)
        contains(str(error), "shared memory")


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
        told = result.get_response()
        same(told["id"] if kit.protocol == "http" else told.id, "seven")
    with report.check("infer with headers"):
        result = client.infer("simple", addends(kit), headers={"x-mine": "1"})
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
    for algorithm in ["gzip", "deflate"]:
        with report.check(f"infer, compressed by {algorithm}"):
            wide = np.arange(4096, dtype=np.float32).reshape(1, 4096)
            result = client.infer(
                "identity_fp32", [kit.input("INPUT0", wide, "FP32")], **kit.compression(algorithm)
            )
            same_array(result.as_numpy("OUTPUT0"), wide)
    with report.check("infer, 16 MB there and back"):
        wide = np.random.default_rng(1).random((1, 4 * 2**20), dtype=np.float32)
        result = client.infer("identity_fp32", [kit.input("INPUT0", wide, "FP32")])
        same_array(result.as_numpy("OUTPUT0"), wide)
    with report.check("infer, 64 at once"):
        lefts = [np.full((1, 16), index, dtype=np.int32) for index in range(64)]
        for left, result in zip(lefts, many(kit, lefts)):
            same_array(result.as_numpy("OUTPUT0"), left + ONES)


def many(kit, lefts):
    """Results in the order of the requests, all of which are under way together."""
    import asyncio
    import queue

    if kit.is_aio:

        async def gather():
            return await asyncio.gather(*[kit.raw.infer("simple", addends(kit, left)) for left in lefts])

        return kit.loop.run_until_complete(gather())
    if kit.protocol == "http":
        asked = [kit.raw.async_infer("simple", addends(kit, left)) for left in lefts]
        return [one.get_result() for one in asked]
    answers = queue.Queue()

    def callback(index, result, error):
        answers.put((index, result, error))

    for index, left in enumerate(lefts):
        kit.raw.async_infer(
            "simple",
            addends(kit, left),
            callback=lambda result, error, index=index: callback(index, result, error),
        )
    results = {}
    for _ in lefts:
        index, result, error = answers.get(timeout=30)
        if error is not None:
            raise error
        results[index] = result
    return [results[index] for index in range(len(lefts))]


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


def errors(kit, report):
    client = kit.client

    def text(*arguments, **options):
        return str(failure(client.infer, *arguments, **options))

    with report.check("infer with an unknown model"):
        contains(text("nobody", addends(kit)), "Request for unknown model: 'nobody' is not found")
    with report.check("infer with an unknown version"):
        contains(
            text("simple", addends(kit), model_version="9"),
            "Request for unknown model: 'simple' version 9 is not found",
        )
    with report.check("infer with one input of two"):
        contains(text("simple", addends(kit)[:1]), "expected 2 inputs but got 1 inputs for model 'simple'")
    with report.check("infer with a shape that does not fit"):
        narrow = np.zeros((1, 15), dtype=np.int32)
        contains(text("simple", addends(kit, narrow)), "unexpected shape for input 'INPUT0' for model 'simple'")
    with report.check("infer with a batch that is too large"):
        wide = np.zeros((9, 16), dtype=np.int32)
        contains(text("simple", addends(kit, wide, wide)), "batch-size must be <= 8 for 'simple'")
    with report.check("infer with another datatype"):
        floats = np.zeros((1, 16), dtype=np.float32)
        contains(
            text("simple", addends(kit, floats, floats, "FP32")),
            "data-type is 'FP32', but model 'simple' expects 'INT32'",
        )
    with report.check("infer with an output that there is not"):
        contains(
            text("simple", addends(kit), outputs=[kit.output("OUTPUT7")]),
            "unexpected inference output 'OUTPUT7' for model 'simple'",
        )
    with report.check("infer with a decoupled model"):
        inputs = repeat_inputs(kit, [1, 2])
        contains(text("repeat_int32", inputs), "decoupled transaction policy")
    with report.check("infer after all that"):
        same_array(client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("infer by several threads" if not kit.is_aio else "infer after a pause"):
        if kit.protocol == "grpc" and not kit.is_aio:
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                asked = [pool.submit(client.infer, "simple", addends(kit)) for _ in range(32)]
                for one in asked:
                    same_array(one.result().as_numpy("OUTPUT0"), RAMP + ONES)
        else:
            same_array(client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)


def repeat_inputs(kit, values, delay_ms=0, wait_ms=0):
    count = len(values)
    return [
        kit.input("IN", np.array(values, dtype=np.int32), "INT32"),
        kit.input("DELAY", np.full(count, delay_ms, dtype=np.uint32), "UINT32"),
        kit.input("WAIT", np.array([wait_ms], dtype=np.uint32), "UINT32"),
    ]
