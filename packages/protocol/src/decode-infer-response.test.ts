import { describe, expect, it } from "vitest";
import { decodeInferResponse } from "./decode-infer-response.ts";

const OUTPUT = '{"name":"y","datatype":"INT32","shape":[1],"data":[7],"parameters":null}';

function decoded(members: string): ReturnType<typeof decodeInferResponse> {
  return decodeInferResponse({
    body: new TextEncoder().encode(`{"model_name":"m",${members}"outputs":[${OUTPUT}]}`),
  });
}

describe("decodeInferResponse", () => {
  it.each(["", '"model_version":null,"id":null,"parameters":null,'])(
    "takes what the protocol leaves optional as absent or null: %j",
    (members) => {
      const { outputs, ...rest } = decoded(members);
      expect(rest).toEqual({ modelName: "m", modelVersion: "", id: "", parameters: {} });
      expect(outputs).toMatchObject([{ name: "y", bytes: Uint8Array.of(7, 0, 0, 0) }]);
    },
  );
});
