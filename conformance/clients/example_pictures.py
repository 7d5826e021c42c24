"""The courses of Triton's example programs that have pictures classified."""

import numpy as np
import tritonclient.utils as utils
from tritonclient.grpc import model_config_pb2, service_pb2

from example_stubs import stub_of
from report import same

COLOURS = ["RED", "GREEN", "BLUE"]


def picture(kit, model, colour):
    """A picture in one colour as the model wants it, by what its metadata and configuration tell; and their names."""
    told, config = kit.told("get_model_metadata", model), kit.config(model)
    [tensor], [output] = told["inputs"], told["outputs"]
    same(len(config["input"]), 1)
    dims = [int(size) for size in tensor["shape"]][1 if config.get("max_batch_size", 0) > 0 else 0 :]
    layout = config["input"][0]["format"]
    channels = {"FORMAT_NCHW": 0, "FORMAT_NHWC": 2}[layout]
    same(dims[channels], 3)
    values = np.zeros(dims, dtype=utils.triton_to_np_dtype(tensor["datatype"]))
    values[(slice(None),) * channels + (COLOURS.index(colour),)] = 1
    return tensor["name"], output["name"], values


def likeliest(array):
    """Of each row the first class: its name and number."""
    texts = [one if isinstance(one, str) else one.decode() for one in np.atleast_2d(array)[:, 0]]
    return [(text.split(":")[2], int(text.split(":")[1])) for text in texts]


def image(kit):
    for model, batch in [("densenet_onnx", 0), ("inception_onnx", 2)]:
        requests = []
        for index, colour in enumerate(COLOURS):
            name, output, values = picture(kit, model, colour)
            batched = np.stack([values] * batch) if batch else values
            requests.append(
                {
                    "model_name": model,
                    "inputs": [kit.input(name, batched, "FP32")],
                    "outputs": [kit.output(output, class_count=2)],
                    "request_id": str(index),
                }
            )
        ways = [[kit.client.infer(**request) for request in requests]]
        ways.append(kit.together([(one.pop("model_name"), one.pop("inputs"), one) for one in map(dict, requests)]))
        if kit.protocol == "grpc":
            ways.append(kit.streamed(requests, len(requests)))
        for results in ways:
            same([kit.request_id(result) for result in results], ["0", "1", "2"])
            for index, result in enumerate(results):
                classes = result.as_numpy(output)
                same(classes.shape, (batch, 2) if batch else (2,))
                same(likeliest(classes), [(COLOURS[index], index)] * (batch or 1))


def bare_image(kit):
    channel, stub = stub_of(kit)
    requests = []
    for colour in COLOURS:
        name, output, values = picture(kit, "inception_onnx", colour)
        request = service_pb2.ModelInferRequest(model_name="inception_onnx")
        request.inputs.add(name=name, datatype="FP32", shape=[1, *values.shape])
        request.outputs.add(name=output).parameters["classification"].int64_param = 1
        request.raw_input_contents.append(values.tobytes())
        requests.append(request)
    config = stub.ModelConfig(service_pb2.ModelConfigRequest(name="inception_onnx")).config
    same(config.input[0].format, model_config_pb2.ModelInput.FORMAT_NHWC)
    asked = [stub.ModelInfer.future(request) for request in requests]
    ways = [
        [stub.ModelInfer(request) for request in requests],
        [one.result(timeout=30) for one in asked],
        [one.infer_response for one in stub.ModelStreamInfer(iter(requests))],
    ]
    for responses in ways:
        texts = [utils.deserialize_bytes_tensor(one.raw_output_contents[0]).reshape(1, 1) for one in responses]
        same([likeliest(one)[0] for one in texts], list(zip(COLOURS, range(3))))
    channel.close()


def ensemble_image(kit):
    model = "preprocess_inception_ensemble"
    [tensor], [output] = [kit.told("get_model_metadata", model)[side] for side in ["inputs", "outputs"]]
    same((tensor["datatype"], kit.config(model)["max_batch_size"]), ("BYTES", 8))
    # Pictures of one pixel each, in the simplest of all formats.
    files = [b"P6\n1 1\n255\n" + bytes(255 * (index == place) for place in range(3)) for index in range(3)]
    batch = np.array([[file] for file in files], dtype=np.object_)
    result = kit.client.infer(
        model, [kit.input(tensor["name"], batch, "BYTES")], outputs=[kit.output(output["name"], class_count=1)]
    )
    same(likeliest(result.as_numpy(output["name"])), list(zip(COLOURS, range(3))))
