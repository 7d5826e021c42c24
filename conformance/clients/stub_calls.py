"""
Messages and stubs that protoc makes of two sources, which must be the same on the wire.

`stub_calls.py theirs` writes, with the modules of tritonclient, each message with a value in every field, as JSON: by the names of its
fields and as bytes. `stub_calls.py ours FOLDER GRPC` reads that from standard input, with modules made of the project's own `.proto`
files in FOLDER, compares, and calls the server.
"""

import json
import sys
from importlib.metadata import version

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor as Field

DEPTH = 6
NAMES = {"preserving_proto_field_name": True, "always_print_fields_with_no_presence": True}


def filled(message, depth=DEPTH):
    """A value in every field; of a `oneof` the last one stays."""
    for number, field in enumerate(message.DESCRIPTOR.fields, 1):
        is_message = field.type == Field.TYPE_MESSAGE
        if is_message and depth == 0:
            continue
        if is_message and field.message_type.GetOptions().map_entry:
            value_of = field.message_type.fields_by_name["value"]
            key = "key" if field.message_type.fields_by_name["key"].type == Field.TYPE_STRING else number
            if value_of.type == Field.TYPE_MESSAGE:
                filled(getattr(message, field.name)[key], depth - 1)
            else:
                getattr(message, field.name)[key] = scalar(value_of, number)
        elif field.is_repeated if hasattr(field, "is_repeated") else field.label == Field.LABEL_REPEATED:
            values = getattr(message, field.name)
            if is_message:
                filled(values.add(), depth - 1)
            else:
                values.extend([scalar(field, number)])
        elif is_message:
            filled(getattr(message, field.name), depth - 1)
            getattr(message, field.name).SetInParent()
        else:
            setattr(message, field.name, scalar(field, number))
    return message


def scalar(field, number):
    if field.type == Field.TYPE_STRING:
        return f"text {number}"
    if field.type == Field.TYPE_BYTES:
        return bytes([number, 255])
    if field.type == Field.TYPE_BOOL:
        return True
    if field.type == Field.TYPE_ENUM:
        return field.enum_type.values[-1].number
    return 0.5 if field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE) else number


def messages(module):
    def nested(types, prefix=""):
        for name, descriptor in types.items():
            if descriptor.GetOptions().map_entry:
                continue
            yield f"{prefix}{name}", descriptor
            yield from nested(descriptor.nested_types_by_name, f"{prefix}{name}.")

    return dict(nested(module.DESCRIPTOR.message_types_by_name))


def class_of(module, name):
    found = module
    for part in name.split("."):
        found = getattr(found, part)
    return found


def methods(module):
    [service] = module.DESCRIPTOR.services_by_name.values()
    return {
        method.name: [method.input_type.full_name, method.output_type.full_name, method.client_streaming, method.server_streaming]
        for method in service.methods
    }


def enums(descriptor):
    own = {name: {value.name: value.number for value in enum.values} for name, enum in descriptor.enum_types_by_name.items()}
    return {**own}


def theirs():
    from tritonclient.grpc import model_config_pb2, service_pb2

    told = {"methods": methods(service_pb2), "messages": {}}
    for kind, module in [("service", service_pb2), ("config", model_config_pb2)]:
        for name, descriptor in messages(module).items():
            message = filled(class_of(module, name)())
            told["messages"][f"{kind} {name}"] = {
                "fields": sorted(field.name for field in descriptor.fields),
                "enums": enums(descriptor),
                "json": json_format.MessageToDict(message, preserving_proto_field_name=True),
                "bytes": message.SerializeToString(deterministic=True).hex(),
            }
    json.dump(told, sys.stdout)


def ours(folder, grpc_url):
    sys.path.insert(0, folder)
    import grpc
    import grpc_service_pb2
    import grpc_service_pb2_grpc
    import model_config_pb2

    from report import Report, same

    told = json.load(sys.stdin)
    report = Report("stubs of our .proto files", version("tritonclient"))
    modules = {"service": grpc_service_pb2, "config": model_config_pb2}
    with report.check("the service has the methods of tritonclient's, with the same messages"):
        same(methods(grpc_service_pb2), told["methods"])
    with report.check("messages have the same fields and enumerations"):
        own = {f"{kind} {name}": one for kind, module in modules.items() for name, one in messages(module).items()}
        differences = []
        for name, theirs_is in told["messages"].items():
            fields = sorted(field.name for field in own[name].fields) if name in own else None
            if fields is None or not set(theirs_is["fields"]) <= set(fields) or enums(own[name]) != theirs_is["enums"]:
                differences.append((name, theirs_is["fields"], fields))
        same(differences, [])
    with report.check(f"{len(told['messages'])} messages with all their fields set are the same bytes"):
        differences = []
        for name, theirs_is in told["messages"].items():
            kind, path = name.split(" ")
            message = json_format.ParseDict(theirs_is["json"], class_of(modules[kind], path)())
            read = class_of(modules[kind], path).FromString(bytes.fromhex(theirs_is["bytes"]))
            if message.SerializeToString(deterministic=True).hex() != theirs_is["bytes"] or read != message:
                differences.append(name)
        same(differences, [])
    with grpc.insecure_channel(grpc_url) as channel:
        stub = grpc_service_pb2_grpc.GRPCInferenceServiceStub(channel)
        with report.check("ServerReady, ModelMetadata, ModelConfig, ModelStatistics, RepositoryIndex"):
            same(stub.ServerReady(grpc_service_pb2.ServerReadyRequest()).ready, True)
            same(stub.ModelMetadata(grpc_service_pb2.ModelMetadataRequest(name="simple")).versions, ["1"])
            same(stub.ModelConfig(grpc_service_pb2.ModelConfigRequest(name="simple")).config.max_batch_size, 8)
            told = stub.ModelStatistics(grpc_service_pb2.ModelStatisticsRequest(name="simple"))
            same([one.name for one in told.model_stats], ["simple"])
            told = stub.RepositoryIndex(grpc_service_pb2.RepositoryIndexRequest())
            same("simple" in [one.name for one in told.models], True)
        request = grpc_service_pb2.ModelInferRequest(model_name="simple", id="own")
        for name in ["INPUT0", "INPUT1"]:
            request.inputs.add(name=name, datatype="INT32", shape=[1, 16]).contents.int_contents.extend(range(16))
        expected = b"".join((2 * value).to_bytes(4, "little") for value in range(16))
        with report.check("ModelInfer, ModelStreamInfer"):
            response = stub.ModelInfer(request)
            same((response.id, response.raw_output_contents[0]), ("own", expected))
            responses = [one.infer_response for one in stub.ModelStreamInfer(iter([request, request]))]
            same([one.raw_output_contents[0] for one in responses], [expected, expected])


if sys.argv[1] == "theirs":
    theirs()
else:
    ours(*sys.argv[2:4])
