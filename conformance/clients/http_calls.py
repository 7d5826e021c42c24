"""What only the clients of HTTP have."""

import time

import numpy as np
import tritonclient.http as httpclient
from tritonclient.http.auth import BasicAuth

from report import contains, failure, same, same_array
from tensors import ONES, RAMP, addends


def run(kit, report):
    with report.check("query parameters are none of the server's business"):
        same(kit.client.is_server_live(query_params={"a": "1", "b": "two"}), True)
    with report.check("generate_request_body and parse_response_body, sent by other means"):
        import urllib.request

        body, header_length = httpclient.InferenceServerClient.generate_request_body(addends(kit))
        request = urllib.request.Request(
            f"http://{kit.url}/v2/models/simple/infer",
            data=body,
            headers={"Inference-Header-Content-Length": str(header_length)},
        )
        with urllib.request.urlopen(request) as response:
            told = response.headers["Inference-Header-Content-Length"]
            result = httpclient.InferenceServerClient.parse_response_body(
                response.read(), header_length=None if told is None else int(told)
            )
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("a plugin that adds a header to every request"):
        kit.raw.register_plugin(BasicAuth("name", "word"))
        same_array(kit.client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)
        kit.raw.unregister_plugin()
    with report.check("a client that gives up does not keep the server from others"):
        slow = [kit.input("DELAY", np.array([[1500]], dtype=np.uint32), "UINT32")]
        began = time.monotonic()
        error = hasty(kit, slow)
        same(time.monotonic() - began < 1.4, True)
        contains(f"{type(error)} {error}".lower(), "time")
        same_array(kit.client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)
    if not kit.is_aio:
        asynchronous(kit, report)


def hasty(kit, inputs):
    """What a client that waits for 0.3 s raises."""
    if kit.is_aio:
        import asyncio

        return failure(kit.loop.run_until_complete, asyncio.wait_for(kit.raw.infer("delayed", inputs), 0.3))
    client = httpclient.InferenceServerClient(kit.url, network_timeout=0.3)
    error = failure(client.infer, "delayed", inputs)
    client.close()
    return error


def asynchronous(kit, report):
    with report.check("async_infer"):
        asked = kit.raw.async_infer("simple", addends(kit), request_id="1")
        same_array(asked.get_result(timeout=10).as_numpy("OUTPUT1"), RAMP - ONES)
    with report.check("async_infer with an error"):
        asked = kit.raw.async_infer("nobody", addends(kit))
        contains(str(failure(asked.get_result)), "Request for unknown model: 'nobody' is not found")
    with report.check("async_infer overtakes a slow one"):
        slow = kit.raw.async_infer(
            "delayed", [kit.input("DELAY", np.array([[500]], dtype=np.uint32), "UINT32")]
        )
        began = time.monotonic()
        kit.raw.async_infer("simple", addends(kit)).get_result()
        same(time.monotonic() - began < 0.5, True)
        same(int(slow.get_result().as_numpy("DELAYED")[0][0]), 500)
