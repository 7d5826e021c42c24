"""The courses of Triton's example programs that use the bare stub of gRPC."""

import grpc
import numpy as np
import tritonclient.utils as utils
from tritonclient.grpc import service_pb2, service_pb2_grpc

from report import same


def stub_of(kit):
    channel = grpc.insecure_channel(kit.url)
    return channel, service_pb2_grpc.GRPCInferenceServiceStub(channel)


def typed_contents(kit, model, datatype, field, values, read):
    """Inputs one by one in the typed fields of a message, outputs in its raw ones."""
    channel, stub = stub_of(kit)
    request = service_pb2.ModelInferRequest(model_name=model)
    for name, contents in zip(["INPUT0", "INPUT1"], values):
        getattr(request.inputs.add(name=name, datatype=datatype, shape=[1, 16]).contents, field).extend(contents)
    for name in ["OUTPUT0", "OUTPUT1"]:
        request.outputs.add(name=name)
    response = stub.ModelInfer(request)
    channel.close()
    same([(one.name, one.datatype, list(one.shape)) for one in response.outputs],
         [(name, datatype, [1, 16]) for name in ["OUTPUT0", "OUTPUT1"]])
    same([[int(value) for value in read(raw)] for raw in response.raw_output_contents],
         [list(range(1, 17)), list(range(-1, 15))])


def explicit_int_content(kit):
    values = [range(16), [1] * 16]
    typed_contents(kit, "simple", "INT32", "int_contents", values, lambda raw: np.frombuffer(raw, np.int32))


def explicit_int8_content(kit):
    values = [range(16), [1] * 16]
    typed_contents(kit, "simple_int8", "INT8", "int_contents", values, lambda raw: np.frombuffer(raw, np.int8))


def explicit_byte_content(kit):
    values = [[str(value).encode() for value in range(16)], [b"1"] * 16]
    typed_contents(kit, "simple_string", "BYTES", "bytes_contents", values, utils.deserialize_bytes_tensor)


def bare_client(kit):
    channel, stub = stub_of(kit)
    model = {"name": "densenet_onnx", "version": ""}
    same(stub.ServerLive(service_pb2.ServerLiveRequest()).live, True)
    same(stub.ServerReady(service_pb2.ServerReadyRequest()).ready, True)
    same(stub.ModelReady(service_pb2.ModelReadyRequest(**model)).ready, True)
    same(stub.ServerMetadata(service_pb2.ServerMetadataRequest()).name, "triton")
    told = stub.ModelMetadata(service_pb2.ModelMetadataRequest(**model))
    same((told.name, [one.name for one in told.inputs], [one.name for one in told.outputs]),
         ("densenet_onnx", ["data_0"], ["fc6_1"]))
    same(stub.ModelConfig(service_pb2.ModelConfigRequest(**model)).config.output[0].label_filename, "labels.txt")
    request = service_pb2.ModelInferRequest(model_name=model["name"], id="my request id")
    request.inputs.add(name="data_0", datatype="FP32", shape=[3, 224, 224])
    request.outputs.add(name="fc6_1")
    request.raw_input_contents.append(b"a" * 602_112)
    response = stub.ModelInfer(request)
    same((response.id, response.model_version, list(response.outputs[0].shape)), ("my request id", "1", [3]))
    [letter] = np.frombuffer(b"aaaa", np.float32)
    same(np.allclose(np.frombuffer(response.raw_output_contents[0], np.float32), letter, rtol=1e-3), True)
    channel.close()
