import re
import urllib.request

import numpy as np

RAMP = np.arange(16, dtype=np.int32).reshape(1, 16)
ONES = np.ones((1, 16), dtype=np.int32)


def addends(kit, left=RAMP, right=ONES, datatype="INT32", binary=True):
    return [
        kit.input("INPUT0", left, datatype, binary),
        kit.input("INPUT1", right, datatype, binary),
    ]


def strings(array):
    """Each element as its decimal text."""
    return np.array([str(value).encode() for value in array.flatten()], dtype=np.object_).reshape(array.shape)


def numbers(array):
    return np.array([int(value) for value in array.flatten()], dtype=np.int32).reshape(array.shape)


def delay(kit, ms):
    """For models that wait that long."""
    return [kit.input("DELAY", np.array([[ms]], dtype=np.uint32), "UINT32")]


def repeat_inputs(kit, values, delay_ms=0, wait_ms=0):
    count = len(values)
    return [
        kit.input("IN", np.array(values, dtype=np.int32), "INT32"),
        kit.input("DELAY", np.full(count, delay_ms, dtype=np.uint32), "UINT32"),
        kit.input("WAIT", np.array([wait_ms], dtype=np.uint32), "UINT32"),
    ]


def metric(kit, family, **labels):
    """The value of the one sample with these labels."""
    with urllib.request.urlopen(f"http://{kit.metrics}/metrics") as response:
        text = response.read().decode()
    wanted = [f'{name}="{value}"' for name, value in labels.items()]
    found = [
        float(value)
        for told, value in re.findall(rf"^{family}{{(.*)}} (\S+)$", text, re.M)
        if all(one in told.split(",") for one in wanted)
    ]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} samples of {family} with {labels}")
    return found[0]
