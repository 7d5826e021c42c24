"""Drives a server with tritonclient's four clients: `main.py HTTP GRPC METRICS MODELS`, addresses and the folder of the models."""

import sys
from importlib.metadata import version

import example_programs
import failure_calls
import grpc_calls
import http_calls
import infer_calls
import server_calls
from kits import LIBRARIES, Kit
from report import Report


def main():
    http, grpc, metrics, models = sys.argv[1:5]
    for name in LIBRARIES:
        report = Report(f"tritonclient.{name}", version("tritonclient"))
        kit = Kit(name, http if name.startswith("http") else grpc)
        kit.metrics = metrics
        kit.models = models
        own = http_calls if kit.protocol == "http" else grpc_calls
        with report.check("all calls are made"):
            for calls in [server_calls, infer_calls, failure_calls, own, example_programs]:
                calls.run(kit, report)
        with report.check("close"):
            kit.close()


main()
