"""
Spans of `naiad serve`, read with OpenTelemetry's own messages.

`trace_calls.py HTTP PORT`: listens at PORT as a collector of OTLP/HTTP, to which the server at HTTP is to export, and makes requests.
"""

import base64
import json
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from report import Report, same, until

HTTP, PORT = sys.argv[1], int(sys.argv[2])
TRACE_ID, SPAN_ID = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
received = []


def with_bytes(value):
    """Ids are hexadecimal in OTLP's JSON, and base64 in that of every other message."""
    if isinstance(value, list):
        return [with_bytes(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: base64.b64encode(bytes.fromhex(one)).decode() if name in ("traceId", "spanId", "parentSpanId") else with_bytes(one)
        for name, one in value.items()
    }


class Collector(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.whole_body()
        received.append((self.path, self.headers["content-type"], self.headers["x-key"], body))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def whole_body(self):
        """This server of Python's reads no chunks by itself."""
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            return self.rfile.read(int(self.headers["content-length"]))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_):
        pass


def resources():
    for path, content_type, key, body in received:
        same((path, content_type, key), ("/v1/traces", "application/json", "secret"))
        yield from json_format.ParseDict(with_bytes(json.loads(body)), ExportTraceServiceRequest()).resource_spans


def spans():
    return [span for one in resources() for scope in one.scope_spans for span in scope.spans]


def plain(attributes):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}


def post(path, body, headers={}):
    request = urllib.request.Request(f"http://{HTTP}{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def main():
    report = Report("opentelemetry-proto", version("opentelemetry-proto"))
    server = HTTPServer(("127.0.0.1", PORT), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with report.check("the settings have those of the mode opentelemetry"):
        with urllib.request.urlopen(f"http://{HTTP}/v2/trace/setting") as response:
            told = json.load(response)
        same(told["trace_mode"], "opentelemetry")
        same(told["url"], f"http://127.0.0.1:{PORT}/v1/traces")
        same("trace_file" in told, False)
    began = time.time_ns()
    body = {"id": "r", "inputs": [{"name": name, "datatype": "INT32", "shape": [1, 16], "data": [1] * 16} for name in ["INPUT0", "INPUT1"]]}
    with report.check("requests within a trace of the client's are exported, others are not with rate=0"):
        post("/v2/models/simple/infer", body)
        post("/v2/models/simple/infer", body, {"traceparent": f"00-{TRACE_ID}-{SPAN_ID}-01"})
        until(lambda: len(spans()) >= 3)
        time.sleep(0.5)
        same(sorted(span.name for span in spans()), ["InferRequest", "compute", "simple"])
    by_name = {span.name: span for span in spans()}
    with report.check("spans are one in another, the outermost in the client's"):
        same({span.trace_id.hex() for span in by_name.values()}, {TRACE_ID})
        same(by_name["InferRequest"].parent_span_id.hex(), SPAN_ID)
        same(by_name["simple"].parent_span_id, by_name["InferRequest"].span_id)
        same(by_name["compute"].parent_span_id, by_name["simple"].span_id)
        same({span.kind for span in by_name.values()}, {Span.SPAN_KIND_SERVER})
    with report.check("events, attributes and times are those of the request"):
        same([one.name for one in by_name["InferRequest"].events][:2], ["HTTP_RECV_START", "HTTP_RECV_END"])
        same([one.name for one in by_name["simple"].events], ["REQUEST_START", "QUEUE_START", "REQUEST_END"])
        steps = ["COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END"]
        same([one.name for one in by_name["compute"].events], steps)
        attributes = plain(by_name["simple"].attributes)
        same((attributes["triton.model_name"], attributes["triton.model_version"]), ("simple", 1))
        same(attributes["triton.request_id"], "r")
        slack = 10**9
        for span in by_name.values():
            same(began - slack <= span.start_time_unix_nano <= span.end_time_unix_nano <= time.time_ns() + slack, True)
    with report.check("the resource is Triton's service, with what was given by options, and by variables where not by options"):
        [resource] = {json.dumps(plain(one.resource.attributes), sort_keys=True) for one in resources()}
        same(json.loads(resource)["service.name"], "triton-inference-server")
        same(json.loads(resource)["team"], "vision")
        same(json.loads(resource)["deployment.environment"], "test")


main()
