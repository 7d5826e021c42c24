"""One line of JSON on standard output for each call that was tried."""

import asyncio
import json
import time
import traceback
from contextlib import contextmanager


class Report:
    def __init__(self, client, release):
        self.client = client
        self.release = release

    @contextmanager
    def check(self, name, program=None):
        """
        Runs a block as one check; whatever it raises is told, and the next check goes on. `program`: Triton's example program whose
        whole course this is.
        """
        began = time.monotonic()
        problem = None
        try:
            yield
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            where = traceback.extract_tb(error.__traceback__)
            line = next((f"{at.name}:{at.lineno}" for at in reversed(where) if "conformance" in at.filename), "")
            problem = f"{line}: {type(error).__name__}: {error}"
        print(
            json.dumps(
                {
                    "client": self.client,
                    "release": self.release,
                    "name": name,
                    "program": program,
                    "problem": problem,
                    "ms": round((time.monotonic() - began) * 1000),
                }
            ),
            flush=True,
        )


def same(actual, expected):
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def contains(text, part):
    if part not in text:
        raise AssertionError(f"{part!r} is not in {text!r}")


def same_array(actual, expected):
    if actual is None or actual.shape != expected.shape or not (actual == expected).all():
        raise AssertionError(f"{actual!r} instead of {expected!r}")


def failure(call, *arguments, **options):
    """What the call raises; fails where it raises nothing."""
    try:
        result = call(*arguments, **options)
    except Exception as error:  # noqa: BLE001
        return error
    raise AssertionError(f"no error, but {result!r}")


def until(holds, seconds=10):
    """Waits for what becomes true a little later."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not true after {seconds} s")
        time.sleep(0.05)
