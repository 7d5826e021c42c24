"""A server with TLS and restricted categories: `secure_calls.py HTTP GRPC CERTIFICATE`."""

import sys
from importlib.metadata import version

import grpc
import numpy as np
import tritonclient.grpc as grpcclient
import tritonclient.http as httpclient

from report import Report, contains, failure, same, same_array

RAMP = np.arange(16, dtype=np.int32).reshape(1, 16)


def addends(library):
    tensors = []
    for name in ["INPUT0", "INPUT1"]:
        tensor = library.InferInput(name, [1, 16], "INT32")
        tensor.set_data_from_numpy(RAMP)
        tensors.append(tensor)
    return tensors


def main():
    http, grpc_url, certificate = sys.argv[1:4]
    report = Report(f"tritonclient.http over TLS {version('tritonclient')}")
    client = httpclient.InferenceServerClient(http, ssl=True, ssl_options={"ca_certs": certificate})
    with report.check("infer"):
        same_array(client.infer("simple", addends(httpclient)).as_numpy("OUTPUT0"), 2 * RAMP)
    with report.check("a restricted category without and with its header"):
        contains(str(failure(client.get_model_repository_index)), "This API is restricted")
        told = client.get_model_repository_index(headers={"admin-key": "secret"})
        contains([one["name"] for one in told], "simple")
    client.close()
    with report.check("a client that does not know the certificate"):
        stranger = httpclient.InferenceServerClient(http, ssl=True)
        contains(str(failure(stranger.is_server_live)).lower(), "certificate")
        stranger.close()

    report = Report(f"tritonclient.grpc over TLS {version('tritonclient')}")
    client = grpcclient.InferenceServerClient(grpc_url, ssl=True, root_certificates=certificate)
    with report.check("infer"):
        same_array(client.infer("simple", addends(grpcclient)).as_numpy("OUTPUT0"), 2 * RAMP)
    with report.check("a restricted category without and with its header"):
        error = failure(client.get_model_repository_index)
        same(str(error.status()), "StatusCode.UNAVAILABLE")
        contains(str(error), "expecting header 'triton-grpc-protocol-admin-key'")
        headers = {"triton-grpc-protocol-admin-key": "secret"}
        told = client.get_model_repository_index(headers=headers)
        contains([one.name for one in told.models], "simple")
    with report.check("compressed responses, which this server gives"):
        result = client.infer("simple", addends(grpcclient), compression_algorithm="gzip")
        same_array(result.as_numpy("OUTPUT1"), 0 * RAMP)
    client.close()
    with report.check("a client without TLS"):
        plain = grpc.insecure_channel(grpc_url)
        call = plain.unary_unary("/inference.GRPCInferenceService/ServerLive")
        same(failure(call, b"", timeout=5).code(), grpc.StatusCode.UNAVAILABLE)
        plain.close()


main()
