"""Triton's example model `simple` for KServe: `add_sub.py HTTP_PORT`."""

import sys
import uuid

from kserve import InferOutput, InferResponse, Model, ModelServer


class AddSub(Model):
    def __init__(self):
        super().__init__("simple")
        self.ready = True

    async def get_input_types(self):
        return [{"name": name, "datatype": "INT32", "shape": [-1, 16]} for name in ["INPUT0", "INPUT1"]]

    async def get_output_types(self):
        return [{"name": name, "datatype": "INT32", "shape": [-1, 16]} for name in ["OUTPUT0", "OUTPUT1"]]

    def predict(self, payload, headers=None, response_headers=None):
        left, right = [tensor.as_numpy() for tensor in payload.inputs]
        outputs = []
        for name, values in [("OUTPUT0", left + right), ("OUTPUT1", left - right)]:
            output = InferOutput(name=name, datatype="INT32", shape=list(values.shape))
            output.set_data_from_numpy(values, binary_data=True)
            outputs.append(output)
        return InferResponse(
            response_id=payload.id or str(uuid.uuid4()),
            model_name=self.name,
            infer_outputs=outputs,
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )


ModelServer(http_port=int(sys.argv[1]), enable_grpc=False, workers=1).start([AddSub()])
