"""What goes wrong, and how a client hears of it: errors, timeouts, cancellation."""

import time

import numpy as np

from report import contains, failure, same, same_array, until
from tensors import ONES, RAMP, addends, delay, metric, repeat_inputs


def run(kit, report):
    errors(kit, report)
    timeouts(kit, report)
    cancellation(kit, report)


def errors(kit, report):
    client = kit.client

    def text(*arguments, **options):
        return str(failure(client.infer, *arguments, **options))

    with report.check("infer with an unknown model"):
        error = failure(client.infer, "nobody", addends(kit))
        contains(str(error), "Request for unknown model: 'nobody' is not found")
        same(error.status(), kit.status("404", "NOT_FOUND"))
    with report.check("infer with an unknown version"):
        contains(
            text("simple", addends(kit), model_version="9"),
            "Request for unknown model: 'simple' version 9 is not found",
        )
    with report.check("infer with one input of two"):
        error = failure(client.infer, "simple", addends(kit)[:1])
        contains(str(error), "expected 2 inputs but got 1 inputs for model 'simple'")
        same(error.status(), kit.status("400", "INVALID_ARGUMENT"))
    with report.check("infer with a shape that does not fit"):
        narrow = np.zeros((1, 15), dtype=np.int32)
        contains(text("simple", addends(kit, narrow)), "unexpected shape for input 'INPUT0' for model 'simple'")
    with report.check("infer with a batch that is too large"):
        wide = np.zeros((9, 16), dtype=np.int32)
        contains(text("simple", addends(kit, wide, wide)), "batch-size must be <= 8 for 'simple'")
    with report.check("infer with another datatype"):
        floats = np.zeros((1, 16), dtype=np.float32)
        contains(
            text("simple", addends(kit, floats, floats, "FP32")),
            "data-type is 'FP32', but model 'simple' expects 'INT32'",
        )
    with report.check("infer with an output that there is not"):
        contains(
            text("simple", addends(kit), outputs=[kit.output("OUTPUT7")]),
            "unexpected inference output 'OUTPUT7' for model 'simple'",
        )
    with report.check("infer with a decoupled model"):
        inputs = repeat_inputs(kit, [1, 2])
        error = failure(client.infer, "repeat_int32", inputs)
        contains(str(error), "decoupled transaction policy")
        same(error.status(), kit.status("501", "UNIMPLEMENTED"))
    with report.check("infer with a model that fails"):
        error = failure(client.infer, "delayed", delay(kit, 10**6))
        contains(str(error), "cannot wait so long")
        same(error.status(), kit.status("400", "INVALID_ARGUMENT"))
    with report.check("infer after all that"):
        same_array(client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)


def timeouts(kit, report):
    with report.check("a request's timeout that the queue is longer than"):
        # The model takes them one by one: whichever comes first is answered, and the others are late by then.
        answers = kit.together([("queued", delay(kit, 500), {"timeout": 150_000}) for _ in range(3)])
        late = [one for one in answers if isinstance(one, Exception)]
        same(len(late), 2)
        for error in late:
            contains(str(error), "Request timeout expired")
            same(error.status(), kit.status("503", "UNAVAILABLE"))
    with report.check("a request's timeout that the queue is shorter than"):
        answers = kit.together([("queued", delay(kit, 50), {"timeout": 10_000_000}) for _ in range(3)])
        same([int(one.as_numpy("DELAYED")[0][0]) for one in answers], [50, 50, 50])


def cancellation(kit, report):
    with report.check("a request that its client gives up leaves the queue"):

        def cancelled():
            return metric(kit, "nv_inference_request_failure", model="queued", reason="CANCELED")

        before = cancelled()
        first = kit.begin("queued", delay(kit, 1500))
        kit.pause(0.3)
        began = time.monotonic()
        gone = kit.give_up("queued", delay(kit, 1500), 0.3)
        contains(f"{type(gone).__name__} {gone}".lower(), "timed out" if kit.name == "http" else "cancel")
        # Long before its turn would have come.
        until(lambda: cancelled() == before + 1, 1.1)
        same(time.monotonic() - began < 1.1, True)
        same(int(first().as_numpy("DELAYED")[0][0]), 1500)
    with report.check("a request that its client gives up while it runs is nobody's hindrance"):
        began = time.monotonic()
        gone = kit.give_up("delayed", delay(kit, 1500), 0.3)
        same(isinstance(gone, BaseException), True)
        same_array(kit.client.infer("simple", addends(kit)).as_numpy("OUTPUT0"), RAMP + ONES)
        same(time.monotonic() - began < 1.4, True)
