"""Drives a server with tritonclient's four clients: `main.py HTTP GRPC METRICS MODELS`, addresses and the folder of the models."""

import sys
from importlib.metadata import version

import common_calls
import grpc_calls
import http_calls
from kits import Kit
from report import Report


def main():
    http, grpc, metrics, models = sys.argv[1:5]
    release = version("tritonclient")
    for name in ["http", "http.aio", "grpc", "grpc.aio"]:
        report = Report(f"tritonclient.{name} {release}")
        kit = Kit(name, {"http": http, "grpc": grpc})
        kit.metrics = metrics
        kit.models = models
        with report.check("runs to its end"):
            common_calls.run(kit, report)
            (http_calls if kit.protocol == "http" else grpc_calls).run(kit, report)
        with report.check("close"):
            kit.close()


main()
