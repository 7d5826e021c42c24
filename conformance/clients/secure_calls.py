"""A server with TLS, which asks clients of gRPC for their certificate too, and restricted categories: `secure_calls.py HTTP GRPC CERTIFICATE KEY`."""

import ssl
import sys
from importlib.metadata import version

import grpc

from kits import LIBRARIES, Kit
from report import Report, contains, failure, same, same_array
from tensors import ONES, RAMP, addends


def main():
    http, grpc_url, certificate, key = sys.argv[1:5]
    options = {
        "http": {"ssl": True, "ssl_options": {"ca_certs": certificate}},
        "http.aio": {"ssl": True, "ssl_context": ssl.create_default_context(cafile=certificate)},
        "grpc": {
            "ssl": True,
            "root_certificates": certificate,
            "private_key": key,
            "certificate_chain": certificate,
        },
    }
    options["grpc.aio"] = options["grpc"]
    for name in LIBRARIES:
        report = Report(f"tritonclient.{name} over TLS", version("tritonclient"))
        kit = Kit(name, http if name.startswith("http") else grpc_url, **options[name])
        with report.check("infer"):
            same_array(kit.client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)
        with report.check("infer, compressed both ways"):
            result = kit.client.infer("simple", addends(kit), **kit.compression("gzip"))
            same_array(result.as_numpy("OUTPUT1"), RAMP - ONES)
        restricted(kit, report)
        kit.close()
        strangers(kit, report)


def restricted(kit, report):
    with report.check("a restricted category without and with its header"):
        error = failure(kit.client.get_model_repository_index)
        name = "admin-key" if kit.protocol == "http" else "triton-grpc-protocol-admin-key"
        if kit.protocol == "http":
            same(error.status(), "403")
            contains(str(error), "This API is restricted")
        else:
            same(error.status(), "StatusCode.UNAVAILABLE")
            contains(str(error), f"expecting header '{name}'")
        contains(str(failure(kit.client.get_model_repository_index, headers={name: "guess"})), name)
        told = kit.told("get_model_repository_index", headers={name: "secret"})
        models = told["models"] if kit.protocol == "grpc" else told
        contains([one["name"] for one in models], "simple")


def strangers(kit, report):
    if kit.name == "http":
        with report.check("a client that does not know the certificate"):
            stranger = kit.another(ssl=True)
            contains(str(failure(stranger.client.is_server_live)).lower(), "certificate")
            stranger.close()
        with report.check("a client without TLS"):
            plain = kit.another()
            same(isinstance(failure(plain.client.is_server_live), Exception), True)
            plain.close()
    if kit.name == "grpc":
        root = open(sys.argv[3], "rb").read()
        for name, channel in [
            ("a client without TLS", grpc.insecure_channel(kit.url)),
            (
                "a client without a certificate of its own",
                grpc.secure_channel(kit.url, grpc.ssl_channel_credentials(root_certificates=root)),
            ),
        ]:
            with report.check(name):
                call = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
                same(failure(call, b"", timeout=5).code(), grpc.StatusCode.UNAVAILABLE)
            channel.close()


main()
