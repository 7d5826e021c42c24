"""Triton's example model `simple` for MLServer."""

from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse


class AddSub(MLModel):
    async def load(self) -> bool:
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        left, right = [NumpyCodec.decode_input(tensor) for tensor in payload.inputs]
        return InferenceResponse(
            id=payload.id,
            model_name=self.name,
            model_version="1",
            outputs=[
                NumpyCodec.encode_output("OUTPUT0", left + right),
                NumpyCodec.encode_output("OUTPUT1", left - right),
            ],
        )
