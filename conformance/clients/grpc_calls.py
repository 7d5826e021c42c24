"""What only the clients of gRPC have: streams, deadlines, and the bare stub."""

import asyncio
import queue
import time

import grpc
import numpy as np
from tritonclient.grpc import service_pb2, service_pb2_grpc

from report import contains, failure, same, same_array, until
from tensors import ONES, RAMP, addends, delay, metric, repeat_inputs


def run(kit, report):
    deadlines(kit, report)
    if kit.is_aio:
        aio_streams(kit, report)
    else:
        streams(kit, report)
        bare_stub(kit, report)


def deadlines(kit, report):
    with report.check("client_timeout that is long enough"):
        result = kit.client.infer("simple", addends(kit), client_timeout=30)
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("client_timeout that is not"):
        error = failure(kit.client.infer, "delayed", delay(kit, 3000), client_timeout=0.3)
        contains(str(error), "Deadline Exceeded")


class Stream:
    """One stream of `tritonclient.grpc`, whose responses are read one by one."""

    def __init__(self, kit, **options):
        self.kit = kit
        self.answers = queue.Queue()
        self.options = options

    def __enter__(self):
        # A client has one stream at a time.
        self.client = self.kit.library.InferenceServerClient(self.kit.url)
        self.client.start_stream(
            callback=lambda result, error: self.answers.put((result, error)), **self.options
        )
        return self

    def __exit__(self, *_):
        self.client.stop_stream()
        self.client.close()

    def send(self, model, inputs, **options):
        self.client.async_stream_infer(model, inputs, **options)

    def next(self):
        result, error = self.answers.get(timeout=15)
        if error is not None:
            raise error
        return result


def is_final(result):
    return result.get_response().parameters["triton_final_response"].bool_param


def running(kit):
    """Requests that the decoupled model is at, by its own count."""
    return metric(kit, "repeat_int32_running", model="repeat_int32")


def streams(kit, report):
    with report.check("stream: requests to a model with one response each, in their order"):
        with Stream(kit) as stream:
            for index in range(20):
                stream.send("simple", addends(kit, RAMP + index), request_id=str(index))
            for index in range(20):
                result = stream.next()
                same(result.get_response().id, str(index))
                same_array(result.as_numpy("OUTPUT0"), RAMP + index + ONES)
    with report.check("stream: two sequences"):
        values = [11, 7, 5, 3, 2, 0, 1]
        with Stream(kit) as stream:
            for index, value in enumerate(values):
                for sequence_id, sign in [(2000, 1), (2001, -1)]:
                    inputs = [kit.input("INPUT", np.array([[sign * value]], dtype=np.int32), "INT32")]
                    stream.send(
                        "simple_sequence",
                        inputs,
                        request_id=f"{sequence_id}_{index}",
                        sequence_id=sequence_id,
                        sequence_start=index == 0,
                        sequence_end=index == len(values) - 1,
                    )
            seen = {}
            for _ in range(2 * len(values)):
                result = stream.next()
                seen[result.get_response().id] = int(result.as_numpy("OUTPUT")[0][0])
        for index, value in enumerate(values):
            start = 1 if index == 0 else 0
            same((seen[f"2000_{index}"], seen[f"2001_{index}"]), (value + start, -value + start))
    with report.check("stream: a decoupled model, a response for each value"):
        with Stream(kit) as stream:
            stream.send("repeat_int32", repeat_inputs(kit, [4, 2, 0, 1]), request_id="r")
            results = [stream.next() for _ in range(4)]
            same([int(result.as_numpy("OUT")[0]) for result in results], [4, 2, 0, 1])
            same([int(result.as_numpy("IDX")[0]) for result in results], [0, 1, 2, 3])
    with report.check("stream: a decoupled model and its empty last response"):
        with Stream(kit) as stream:
            stream.send(
                "repeat_int32", repeat_inputs(kit, [8, 9]), request_id="e", enable_empty_final_response=True
            )
            results = [stream.next() for _ in range(3)]
            same([is_final(result) for result in results], [False, False, True])
            same([len(result.get_response().outputs) for result in results], [2, 2, 0])
            stream.send("repeat_int32", repeat_inputs(kit, []), enable_empty_final_response=True)
            result = stream.next()
            same((is_final(result), len(result.get_response().outputs)), (True, 0))
    with report.check("stream: decoupled requests answer as they can"):
        with Stream(kit) as stream:
            stream.send("repeat_int32", repeat_inputs(kit, [1, 1], delay_ms=400), request_id="slow")
            stream.send("repeat_int32", repeat_inputs(kit, [2, 2]), request_id="fast")
            ids = [stream.next().get_response().id for _ in range(4)]
            same(ids, ["fast", "fast", "slow", "slow"])
    with report.check("stream: an error is a response, and the stream goes on"):
        with Stream(kit) as stream:
            stream.send("nobody", addends(kit), request_id="bad")
            stream.send("simple", addends(kit), request_id="good")
            contains(str(failure(stream.next)), "Request for unknown model: 'nobody' is not found")
            same(stream.next().get_response().id, "good")
    with report.check("stream: the header triton_grpc_error makes an error the end"):
        with Stream(kit, headers={"triton_grpc_error": "true"}) as stream:
            stream.send("delayed", delay(kit, 10**6))
            error = failure(stream.next)
            same((str(error.status()), error.message()), ("StatusCode.INVALID_ARGUMENT", "cannot wait so long"))
    with report.check("stream: compressed"):
        with Stream(kit, compression_algorithm="gzip") as stream:
            stream.send("simple", addends(kit))
            same_array(stream.next().as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("stream: a timeout ends it"):
        with Stream(kit, stream_timeout=0.4) as stream:
            stream.send("repeat_int32", repeat_inputs(kit, [1], delay_ms=5000))
            contains(str(failure(stream.next)), "Deadline Exceeded")
    with report.check("stream: stop_stream that cancels reaches the model"):
        client = kit.library.InferenceServerClient(kit.url)
        answers = queue.Queue()
        client.start_stream(callback=lambda result, error: answers.put((result, error)))
        client.async_stream_infer("repeat_int32", repeat_inputs(kit, list(range(1000)), delay_ms=20))
        same(answers.get(timeout=10)[1], None)
        same(running(kit), 1)
        client.stop_stream(cancel_requests=True)
        client.close()
        until(lambda: running(kit) == 0)
    with report.check("stream: 200 requests at once"):
        with Stream(kit) as stream:
            for index in range(200):
                stream.send("simple", addends(kit), request_id=str(index))
            same([stream.next().get_response().id for _ in range(200)], [str(index) for index in range(200)])


def aio_streams(kit, report):
    async def first(count, requests, **options):
        async def iterate():
            for one in requests:
                yield one

        answers = []
        responses = kit.raw.stream_infer(inputs_iterator=iterate(), **options)
        async for result, error in responses:
            answers.append(error or result)
            if len(answers) == count:
                break
        return answers

    def wait(coroutine):
        return kit.loop.run_until_complete(asyncio.wait_for(coroutine, 20))

    with report.check("stream: requests in their order"):
        requests = [
            {"model_name": "simple", "inputs": addends(kit, RAMP + index), "request_id": str(index)}
            for index in range(20)
        ]
        answers = wait(first(20, requests))
        same([one.get_response().id for one in answers], [str(index) for index in range(20)])
        same_array(answers[5].as_numpy("OUTPUT0"), RAMP + 5 + ONES)
    with report.check("stream: a decoupled model, a response for each value"):
        request = {"model_name": "repeat_int32", "inputs": repeat_inputs(kit, [4, 2])}
        answers = wait(first(2, [request]))
        same([int(one.as_numpy("OUT")[0]) for one in answers], [4, 2])
        same([is_final(one) for one in answers], [False, False])
    with report.check("stream: an error is a response"):
        requests = [
            {"model_name": "nobody", "inputs": addends(kit)},
            {"model_name": "simple", "inputs": addends(kit)},
        ]
        bad, good = wait(first(2, requests))
        contains(str(bad), "Request for unknown model: 'nobody' is not found")
        same_array(good.as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("stream: cancelled while it answers"):

        async def cancelled():
            async def iterate():
                yield {
                    "model_name": "repeat_int32",
                    "inputs": repeat_inputs(kit, list(range(1000)), delay_ms=20),
                }

            responses = kit.raw.stream_infer(inputs_iterator=iterate())
            async for _, error in responses:
                same((error, running(kit)), (None, 1))
                responses.cancel()
                return

        wait(cancelled())
        until(lambda: running(kit) == 0)
    with report.check("stream: compressed"):
        request = {"model_name": "simple", "inputs": addends(kit)}
        [answer] = wait(first(1, [request], compression_algorithm="gzip"))
        same_array(answer.as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("stream: a timeout ends it"):
        request = {"model_name": "repeat_int32", "inputs": repeat_inputs(kit, [1], delay_ms=5000)}
        contains(str(failure(wait, first(1, [request], stream_timeout=0.4))), "Deadline Exceeded")


def bare_stub(kit, report):
    channel = grpc.insecure_channel(kit.url)
    stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

    with report.check("stub: typed and raw contents together are refused"):
        message = service_pb2.ModelInferRequest(model_name="simple")
        for name in ["INPUT0", "INPUT1"]:
            tensor = message.inputs.add(name=name, datatype="INT32", shape=[1, 16])
            tensor.contents.int_contents.extend(range(16))
        message.raw_input_contents.extend([RAMP.tobytes(), RAMP.tobytes()])
        error = failure(stub.ModelInfer, message)
        same(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
        contains(error.details(), "contents field must not be specified when using raw_input_contents")
    with report.check("gRPC's own health service"):
        check = channel.unary_unary("/grpc.health.v1.Health/Check")
        same(check(b""), b"\x08\x01")
    with report.check("a method that there is not"):
        error = failure(channel.unary_unary("/inference.GRPCInferenceService/Dance"), b"")
        same(error.code(), grpc.StatusCode.UNIMPLEMENTED)
    with report.check("stub: raw contents of another size than the shape says"):
        message = service_pb2.ModelInferRequest(model_name="simple")
        for name in ["INPUT0", "INPUT1"]:
            message.inputs.add(name=name, datatype="INT32", shape=[1, 16])
            message.raw_input_contents.append(RAMP.tobytes()[4:])
        error = failure(stub.ModelInfer, message)
        same(error.code(), grpc.StatusCode.INVALID_ARGUMENT)
        contains(error.details(), "input byte size mismatch for input 'INPUT0' for model 'simple'. Expected 64, got 60")
    with report.check("a client that pings"):
        options = [("grpc.keepalive_time_ms", 1000), ("grpc.keepalive_permit_without_calls", 1)]
        pinging = grpc.insecure_channel(kit.url, options=options)
        stub_of_it = service_pb2_grpc.GRPCInferenceServiceStub(pinging)
        same(stub_of_it.ServerLive(service_pb2.ServerLiveRequest()).live, True)
        time.sleep(2.2)
        same(stub_of_it.ServerLive(service_pb2.ServerLiveRequest()).live, True)
        pinging.close()
    channel.close()
