"""
The whole course of each of Triton's own example programs, as one check that stands under that program's name. Clients of asyncio take
the courses of the blocking ones too.
"""

import os

import numpy as np

from example_pictures import bare_image, ensemble_image, image
from example_sequences import custom_repeat, sequence_stream_infer, sequence_sync_infer
from example_stubs import bare_client, explicit_byte_content, explicit_int8_content, explicit_int_content
from report import contains, failure, same, same_array
from tensors import ONES, RAMP, addends, numbers, strings

HEADERS = {"test": "1", "dummy": "2"}


def run(kit, report):
    for course, programs in COURSES:
        program = programs.get(kit.name)
        if program is None and not (kit.is_aio and kit.protocol in programs and course not in BLOCKING):
            continue
        with report.check(f"example program, {course.__name__.replace('_', ' ')}", program):
            course(kit)


def sums(kit, result, left=RAMP, right=ONES):
    same_array(result.as_numpy("OUTPUT0"), left + right)
    same_array(result.as_numpy("OUTPUT1"), left - right)


def both_outputs(kit):
    if kit.protocol == "http":
        return [kit.output("OUTPUT0", binary=True), kit.output("OUTPUT1", binary=False)]
    return [kit.output("OUTPUT0"), kit.output("OUTPUT1")]


def infer(kit):
    # The client writes into the headers that it is given.
    right = np.full((1, 16), -1, dtype=np.int32)
    inputs = [kit.input("INPUT0", RAMP, "INT32", False), kit.input("INPUT1", right, "INT32", True)]
    options = {"query_params": {"test_1": 1, "test_2": 2}} if kit.protocol == "http" else {"client_timeout": 30}
    for compression in [{}, kit.compression("gzip"), kit.compression("deflate")]:
        for outputs in [both_outputs(kit), None]:
            result = kit.client.infer(
                "simple", inputs, outputs=outputs, headers=dict(HEADERS), **options, **compression
            )
            sums(kit, result, right=right)
    same(len(kit.told("get_inference_statistics", "simple", headers=dict(HEADERS))["model_stats"]), 1)
    error = failure(kit.client.infer, "wrong_model_name", inputs, outputs=both_outputs(kit))
    same(error.message().startswith("Request for unknown model"), True)
    for result in kit.together([("simple", inputs, {"outputs": outputs}) for outputs in [both_outputs(kit), None]]):
        sums(kit, result, right=right)


def async_infer(kit):
    for result in kit.together([("simple", addends(kit), {"outputs": both_outputs(kit)}) for _ in range(2)]):
        sums(kit, result)


def string_infer(kit):
    inputs = [kit.input("INPUT0", strings(RAMP), "BYTES", True), kit.input("INPUT1", strings(ONES), "BYTES", False)]
    result = kit.client.infer("simple_string", inputs, outputs=both_outputs(kit))
    same_array(numbers(result.as_numpy("OUTPUT0")), RAMP + ONES)
    same_array(numbers(result.as_numpy("OUTPUT1")), RAMP - ONES)
    for texts in [
        np.array([[b"he\x00llo"] * 16], dtype=np.object_),
        np.array([[b"\x00\x01\x02\x03"] * 16], dtype=np.bytes_),
    ]:
        for binary in [True, False] if kit.protocol == "http" else [True]:
            inputs = [kit.input("INPUT0", texts, "BYTES", binary)]
            result = kit.client.infer("simple_identity", inputs, outputs=[kit.output("OUTPUT0", binary)])
            told = [one if isinstance(one, bytes) else one.encode() for one in result.as_numpy("OUTPUT0")[0]]
            same(told, list(texts[0]))


def health_metadata(kit):
    options = {"query_params": {"test_1": 1, "test_2": 2}} if kit.protocol == "http" else {"headers": dict(HEADERS)}
    same(kit.client.is_server_live(**options), True)
    same(kit.client.is_server_ready(), True)
    same(kit.client.is_model_ready("simple"), True)
    same(kit.told("get_server_metadata")["name"], "triton")
    same(kit.told("get_model_metadata", "simple", **options)["name"], "simple")
    error = failure(kit.client.get_model_metadata, "wrong_model_name")
    contains(error.message(), "Request for unknown model")
    same(kit.config("simple")["name"], "simple")


def model_control(kit):
    client = kit.client
    same(len(kit.index()), len(os.listdir(kit.models)))
    try:
        client.load_model("simple")
        same(client.is_model_ready("simple"), True)
        error = failure(
            client.load_model, "simple", config='"parameters": {"config": {{"max_batch_size": "16"}}}'
        )
        contains(error.message(), "failed to load")
        client.load_model("simple", config='{"max_batch_size":"16"}')
        same(kit.config("simple")["max_batch_size"], 16)
        client.unload_model("simple")
        same(client.is_model_ready("simple"), False)
        error = failure(client.load_model, "simple", config="{}", files={"file:" + "A" * 256: b"a"})
        same(error.status(), kit.status("500", "INTERNAL"))
        contains(error.message(), "failed to poll from model repository")
        same(client.is_server_live(), True)
        contains(failure(client.load_model, "wrong_model_name").message(), "failed to load")
    finally:
        client.load_model("simple")


def keepalive(kit):
    options = kit.library.KeepAliveOptions(
        keepalive_time_ms=400,
        keepalive_timeout_ms=1000,
        keepalive_permit_without_calls=True,
        http2_max_pings_without_data=0,
    )
    other = kit.another(keepalive_options=options)
    sums(kit, other.client.infer("simple", addends(other), headers={"test": "1"}))
    other.pause(1.5)
    sums(kit, other.client.infer("simple", addends(other)))
    other.close()


def custom_args(kit):
    other = kit.another(
        channel_args=[
            ("grpc.max_send_message_length", 2**20),
            ("grpc.max_receive_message_length", 2**20),
            ("grpc.keepalive_time_ms", 2**31 - 1),
            ("grpc.keepalive_timeout_ms", 20_000),
            ("grpc.keepalive_permit_without_calls", False),
            ("grpc.http2.max_pings_without_data", 2),
            ("grpc.dns_enable_srv_queries", 1),
        ]
    )
    sums(kit, other.client.infer("simple", addends(other), headers={"test": "1"}))
    wide = np.zeros((1, 2**19), dtype=np.float32)
    error = failure(other.client.infer, "identity_fp32", [other.input("INPUT0", wide, "FP32")])
    contains(str(error).lower(), "larger than max")
    other.close()


def memory_growth(kit):
    for _ in range(100):
        other = kit.another()
        result = other.client.infer(
            "custom_identity_int32", [other.input("INPUT0", RAMP, "INT32")], outputs=[other.output("OUTPUT0")]
        )
        same_array(result.as_numpy("OUTPUT0"), RAMP)
        same(result.as_numpy("OUTPUT0").dtype, np.int32)
        other.close()


def reuse_infer_objects(kit):
    """Without the halves that want shared memory, which is refused."""
    inputs, outputs = addends(kit), both_outputs(kit)
    for right in [ONES, 2 * ONES, ONES]:
        inputs[1].set_data_from_numpy(right)
        outputs[0].unset_shared_memory()
        result = kit.client.infer("simple", inputs, outputs=outputs)
        same(result.get_output("OUTPUT1") is not None, True)
        sums(kit, result, right=right)
    shared_memory_is_refused(kit)


def shared_memory_is_refused(kit):
    for call in [kit.client.unregister_system_shared_memory, kit.client.unregister_cuda_shared_memory]:
        contains(str(failure(call)), "Client shared memory is disabled.")


def by_protocol(name, *protocols):
    return {protocol: name.replace("*", protocol) for protocol in protocols or ["http", "grpc"]}


COURSES = [
    (
        infer,
        {
            "http": "simple_http_infer_client",
            "http.aio": "simple_http_aio_infer_client",
            "grpc": "simple_grpc_infer_client",
            "grpc.aio": "simple_grpc_aio_infer_client",
        },
    ),
    (async_infer, by_protocol("simple_*_async_infer_client")),
    (string_infer, by_protocol("simple_*_string_infer_client")),
    (health_metadata, by_protocol("simple_*_health_metadata")),
    (model_control, by_protocol("simple_*_model_control")),
    (sequence_sync_infer, by_protocol("simple_*_sequence_sync_infer_client")),
    (
        sequence_stream_infer,
        {
            "grpc": "simple_grpc_sequence_stream_infer_client",
            "grpc.aio": "simple_grpc_aio_sequence_stream_infer_client",
        },
    ),
    (custom_repeat, by_protocol("simple_*_custom_repeat", "grpc")),
    (keepalive, by_protocol("simple_*_keepalive_client", "grpc")),
    (custom_args, by_protocol("simple_*_custom_args_client", "grpc")),
    (explicit_int_content, by_protocol("grpc_explicit_int_content_client", "grpc")),
    (explicit_int8_content, by_protocol("grpc_explicit_int8_content_client", "grpc")),
    (explicit_byte_content, by_protocol("grpc_explicit_byte_content_client", "grpc")),
    (bare_client, by_protocol("grpc_client", "grpc")),
    (image, by_protocol("image_client")),
    (bare_image, by_protocol("grpc_image_client", "grpc")),
    (ensemble_image, by_protocol("ensemble_image_client")),
    (memory_growth, by_protocol("memory_growth_test")),
    (reuse_infer_objects, by_protocol("reuse_infer_objects_client")),
    (shared_memory_is_refused, by_protocol("simple_*_shm_client")),
    (shared_memory_is_refused, by_protocol("simple_*_shm_string_client")),
    (shared_memory_is_refused, by_protocol("simple_*_cudashm_client")),
]

# Courses of the bare stub, which asyncio's client has no part in, and one that is the same thrice.
BLOCKING = [
    shared_memory_is_refused,
    explicit_int_content,
    explicit_int8_content,
    explicit_byte_content,
    bare_client,
    bare_image,
]
