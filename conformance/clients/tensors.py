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
