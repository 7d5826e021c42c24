"""The courses of Triton's example programs that send sequences, or read many responses to a request."""

import uuid

import numpy as np

from report import same
from tensors import repeat_inputs

VALUES = [11, 7, 5, 3, 2, 0, 1]


def sequence_courses(dynamic):
    """Three sequences, one of them with a text as its id: model, id, values, and what is to come of them."""
    first, second = 1000, 1001
    text = "1002" if dynamic else str(uuid.uuid4())
    model = "simple_dyna_sequence" if dynamic else "simple_sequence"

    def plain(sequence_id, values):
        end = sequence_id if dynamic else 0
        return [values[0] + 1, *values[1:-1], values[-1] + end]

    negative = [-value for value in VALUES]
    courses = [(model, first, [0, *VALUES]), (model, second, [100, *negative])]
    expected = [plain(sequence_id, values) for _, sequence_id, values in courses]
    values = [20, *negative]
    if dynamic:
        # This one adds up.
        courses.append(("simple_string_dyna_sequence", text, values))
        running = [sum(values[: index + 1]) for index in range(len(values))]
        expected.append([*running[:-1], running[-1] + int(text)])
    else:
        courses.append((model, text, values))
        expected.append(plain(0, values))
    return courses, expected


def steps(kit, course):
    model, sequence_id, values = course
    for index, value in enumerate(values):
        yield {
            "model_name": model,
            "inputs": [kit.input("INPUT", np.array([[value]], dtype=np.int32), "INT32")],
            "outputs": [kit.output("OUTPUT")],
            "request_id": f"{sequence_id}_{index}",
            "sequence_id": sequence_id,
            "sequence_start": index == 0,
            "sequence_end": index == len(values) - 1,
        }


def sequence_sync_infer(kit):
    for dynamic in [False, True]:
        courses, expected = sequence_courses(dynamic)
        for course, results in zip(courses, expected):
            answers = [kit.client.infer(**step).as_numpy("OUTPUT") for step in steps(kit, course)]
            same([int(answer[0][0]) for answer in answers], results)


def sequence_stream_infer(kit):
    for dynamic in [False, True]:
        courses, expected = sequence_courses(dynamic)
        requests = [step for course in courses for step in steps(kit, course)]
        answers = kit.streamed(requests, len(requests))
        for (_, sequence_id, values), results in zip(courses, expected):
            own = [one for one in answers if one.get_response().id.rpartition("_")[0] == str(sequence_id)]
            same([int(one.as_numpy("OUTPUT")[0][0]) for one in own], results)


def custom_repeat(kit):
    values = list(range(100, 110))
    request = {
        "model_name": "repeat_int32",
        "inputs": repeat_inputs(kit, values, delay_ms=20, wait_ms=20),
        "outputs": [kit.output("OUT")],
    }
    answers = kit.streamed([request], len(values))
    same([list(answer.as_numpy("OUT")) for answer in answers], [[value] for value in values])
    same([len(answer.get_response().outputs) for answer in answers], [1] * len(values))
