"""What only the clients of HTTP have."""

import gzip
import time
import urllib.request
import zlib

import tritonclient.http as httpclient
from tritonclient.http.auth import BasicAuth

from report import contains, failure, same, same_array
from tensors import ONES, RAMP, addends, delay


def run(kit, report):
    with report.check("query parameters are none of the server's business"):
        parameters = {"a": 1, "b": "two"}
        same(kit.client.is_server_live(query_params=parameters), True)
        same(kit.told("get_model_metadata", "simple", query_params=parameters)["name"], "simple")
        result = kit.client.infer("simple", addends(kit), query_params=parameters)
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
    with report.check("generate_request_body and parse_response_body, sent by other means"):
        body, header_length = httpclient.InferenceServerClient.generate_request_body(addends(kit))
        response, body = post(kit, body, {"Inference-Header-Content-Length": str(header_length)})
        told = response.headers["Inference-Header-Content-Length"]
        result = httpclient.InferenceServerClient.parse_response_body(
            body, header_length=None if told is None else int(told)
        )
        same_array(result.as_numpy("OUTPUT0"), RAMP + ONES)
    for algorithm, unpack in [("gzip", gzip.decompress), ("deflate", zlib.decompress)]:
        with report.check(f"a response that is asked for in {algorithm} is so"):
            body, header_length = httpclient.InferenceServerClient.generate_request_body(addends(kit))
            headers = {"Inference-Header-Content-Length": str(header_length), "Accept-Encoding": algorithm}
            response, body = post(kit, body, headers)
            same(response.headers["Content-Encoding"], algorithm)
            contains(unpack(body), b'"OUTPUT1"')
    with report.check("a plugin that adds a header to every request"):
        kit.raw.register_plugin(BasicAuth("name", "word"))
        same_array(kit.client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)
        kit.raw.unregister_plugin()
    if not kit.is_aio:
        asynchronous(kit, report)


def post(kit, body, headers):
    request = urllib.request.Request(f"http://{kit.url}/v2/models/simple/infer", data=body, headers=headers)
    with urllib.request.urlopen(request) as response:
        return response, response.read()


def asynchronous(kit, report):
    with report.check("async_infer"):
        asked = kit.raw.async_infer("simple", addends(kit), request_id="1")
        same_array(asked.get_result(timeout=10).as_numpy("OUTPUT1"), RAMP - ONES)
    with report.check("async_infer with an error"):
        asked = kit.raw.async_infer("nobody", addends(kit))
        contains(str(failure(asked.get_result)), "Request for unknown model: 'nobody' is not found")
    with report.check("async_infer overtakes a slow one"):
        slow = kit.raw.async_infer("delayed", delay(kit, 500))
        began = time.monotonic()
        kit.raw.async_infer("simple", addends(kit)).get_result()
        same(time.monotonic() - began < 0.5, True)
        same(int(slow.get_result().as_numpy("DELAYED")[0][0]), 500)
