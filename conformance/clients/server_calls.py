"""Health, metadata, the model repository, settings, shared memory. The models are those that the set-up serves; see its list."""

import base64
import json
import os

from report import contains, failure, same, same_array, until
from tensors import ONES, RAMP, addends


def run(kit, report):
    health(kit, report)
    metadata(kit, report)
    statistics(kit, report)
    repository(kit, report)
    trace_settings(kit, report)
    log_settings(kit, report)
    shared_memory(kit, report)


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
                contains(str(failure(client.is_model_ready, *reference)), "Request for unknown model: ")
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
    with report.check("get_model_metadata of an unknown model and version"):
        for reference, text in [
            (("wrong_model_name",), "Request for unknown model: 'wrong_model_name' is not found"),
            (("simple", "9"), "Request for unknown model: 'simple' version 9 is not found"),
        ]:
            error = failure(kit.told, "get_model_metadata", *reference)
            contains(str(error), text)
    with report.check("get_model_config"):
        config = kit.config("simple")
        same((config["name"], config["max_batch_size"]), ("simple", 8))
        same(config["input"][0]["data_type"], "TYPE_INT32")
    with report.check("get_model_config of an unknown model"):
        error = failure(kit.told, "get_model_config", "wrong_model_name")
        contains(str(error), "Request for unknown model: 'wrong_model_name' is not found")


def statistics(kit, report):
    with report.check("get_inference_statistics of a model counts its requests"):

        def counts():
            [told] = kit.told("get_inference_statistics", "simple", "1")["model_stats"]
            stats = told.get("inference_stats", {})
            read = [told.get("inference_count"), told.get("execution_count")]
            read += [stats.get(kind, {}).get("count") for kind in ["success", "fail", "queue", "compute_infer"]]
            return [int(value or 0) for value in read]

        before = counts()
        kit.client.infer("simple", addends(kit, RAMP.repeat(2, 0), RAMP.repeat(2, 0)))
        same([after - earlier for after, earlier in zip(counts(), before)], [2, 1, 1, 0, 1, 1])
    with report.check("get_inference_statistics of all models"):
        told = kit.told("get_inference_statistics")
        contains([one["name"] for one in told["model_stats"]], "simple")
        same(len(told["model_stats"]) > 10, True)
    with report.check("get_inference_statistics of an unknown model"):
        error = failure(kit.told, "get_inference_statistics", "wrong_model_name")
        contains(str(error), "requested model 'wrong_model_name' is not available")


def repository(kit, report):
    client = kit.client

    def state(name):
        [found] = [one.get("state", "") for one in kit.index() if one["name"] == name]
        return found

    with report.check("get_model_repository_index"):
        same(sorted(one["name"] for one in kit.index()), sorted(os.listdir(kit.models)))
        same(state("simple"), "READY")
    with report.check("unload_model"):
        client.unload_model("classifier")
        until(lambda: state("classifier") == "UNAVAILABLE")
        same(client.is_model_ready("classifier"), False)
        contains(str(failure(client.infer, "classifier", [])), "Request for unknown model: 'classifier'")
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
        same("wrong_model_name" in [one["name"] for one in kit.index()], False)
    with report.check("load_model with another config"):
        config = {"backend": "onnxruntime", "max_batch_size": 4}
        client.load_model("classifier", config=json.dumps(config))
        same(kit.config("classifier")["max_batch_size"], 4)
    with report.check("load_model with a config that is none"):
        error = failure(client.load_model, "classifier", config='"max_batch_size": {}')
        contains(str(error), "failed to load 'classifier', failed to poll from model repository")
        # What was loaded stays.
        same(kit.config("classifier")["max_batch_size"], 4)
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
    with report.check("load_model with files outside the model"):
        error = failure(client.load_model, "classifier", config="{}", files={"file:../1/model.onnx": b"x"})
        contains(str(error), "failed to load 'classifier', failed to poll from model repository")
    with report.check("load_model back as it was"):
        client.load_model("classifier")
        same(kit.config("classifier")["max_batch_size"], 8)


def plain(kit, told):
    """gRPC wraps each value."""
    if kit.protocol == "http":
        return told
    values = {}
    for name, wrapped in told.get("settings", {}).items():
        value = wrapped.get("value", next(iter(wrapped.values()), None))
        values[name] = value[0] if isinstance(value, list) and len(value) == 1 else value
    return values


def trace_settings(kit, report):
    def update(settings, **options):
        return plain(kit, kit.told("update_trace_settings", settings=settings, **options))

    def read(**options):
        return plain(kit, kit.told("get_trace_settings", **options))

    with report.check("get_trace_settings"):
        same({"trace_level", "trace_rate", "trace_count", "log_frequency"} <= set(read()), True)
    with report.check("update_trace_settings of the server, and back"):
        same(update({"trace_rate": "7"})["trace_rate"], "7")
        same(read()["trace_rate"], "7")
        same(update({"trace_rate": None})["trace_rate"], "1000")
    with report.check("update_trace_settings of a model"):
        same(update({"trace_rate": "9"}, model_name="simple")["trace_rate"], "9")
        same(read()["trace_rate"], "1000")
        update({"trace_rate": None}, model_name="simple")
        same(read(model_name="simple")["trace_rate"], "1000")
    with report.check("update_trace_settings with several values"):
        told = update({"trace_level": ["OFF"], "trace_count": "3", "log_frequency": "2"}, model_name="simple")
        same((told["trace_level"], told["trace_count"], told["log_frequency"]), (read()["trace_level"], "3", "2"))
        update({"trace_level": None, "trace_count": None, "log_frequency": None}, model_name="simple")
        same(read(model_name="simple"), read())
    with report.check("update_trace_settings with what is none"):
        contains(str(failure(update, {"trace_rate": "often"})), "trace_rate")
    with report.check("trace settings of an unknown model"):
        contains(str(failure(read, model_name="nobody")), "nobody")


def log_settings(kit, report):
    def update(settings):
        return plain(kit, kit.told("update_log_settings", settings))

    def read():
        return plain(kit, kit.told("get_log_settings"))

    with report.check("get_log_settings"):
        same(read()["log_info"], True)
    with report.check("update_log_settings, and back"):
        told = update({"log_verbose_level": 1, "log_format": "ISO8601", "log_warning": False})
        same(
            (int(told["log_verbose_level"]), told["log_format"], told.get("log_warning", False)),
            (1, "ISO8601", False),
        )
        told = update({"log_verbose_level": 0, "log_format": "default", "log_warning": True})
        same(
            (int(told.get("log_verbose_level", 0)), told["log_format"], told["log_warning"]),
            (0, "default", True),
        )
    with report.check("update_log_settings with what is none"):
        contains(str(failure(update, {"log_format": "verse"})).lower(), "log_format")
        same(read()["log_format"], "default")


def shared_memory(kit, report):
    client = kit.client
    with report.check("shared memory: a status tells of none, and none can be registered or given up"):
        for kind in ["system", "cuda"]:
            told = kit.told(f"get_{kind}_shared_memory_status")
            same(told if kit.protocol == "http" else told.get("regions", []), [])
        for call, arguments in [
            (client.register_system_shared_memory, ("region", "/region", 64)),
            (client.register_cuda_shared_memory, ("region", base64.b64encode(bytes(64)), 0, 64)),
            (client.unregister_system_shared_memory, ()),
            (client.unregister_cuda_shared_memory, ()),
        ]:
            error = failure(call, *arguments)
            same(error.status(), kit.status("501", "UNIMPLEMENTED"))
            contains(str(error), "Client shared memory is disabled.")
