import { describe, expect, it } from "vitest";
import {
  createError,
  engineFailure,
  hasContradictingShapes,
  isMissingOnGpu,
  mayBeOneRequests,
  runError,
} from "./engine-error.ts";

const MISSING_KERNEL = new Error(
  "Can't create a session. ERROR_CODE: 9, ERROR_MESSAGE: Could not find an implementation for Add(14) node with name 'O'",
);
/** What the GPU builds say of a node that no provider of theirs can run, such as one on strings. */
const NO_PROVIDER = new Error(
  "Can't create a session. ERROR_CODE: 1, ERROR_MESSAGE: Exception during initialization: bool " +
    "onnxruntime::TransformerMemcpyImpl::IsNodeCompatibleWithProvider(const onnxruntime::Node &) const " +
    "!node_provider_type.empty() was false. Provider type for Cast node with name 'number_0' is not set.",
);
/** The GPU builds come without ai.onnx.ml, and then take a model that uses it for invalid. */
const NO_OPERATOR = new Error(
  'Can\'t create a session. ERROR_CODE: 10, ERROR_MESSAGE: This is an invalid model. In Node, ("label", LabelEncoder, ' +
    '"ai.onnx.ml", -1) : Error No Op registered for LabelEncoder with domain_version of 2',
);
const NO_MEMORY = new Error("Can't create a session. ERROR_CODE: 6, ERROR_MESSAGE: std::bad_alloc");
const NO_FP16 = new Error(
  "failed to call OrtRun(). ERROR_CODE: 1, ERROR_MESSAGE: Non-zero status code returned while running Add node. " +
    "Name:'' Status Message: Program Add requires f16 but the device does not support it.",
);
const BAD_INDEX = new Error(
  "failed to call OrtRun(). ERROR_CODE: 2, ERROR_MESSAGE: Non-zero status code returned while running Gather node. " +
    "Name:'O' Status Message: indices element out of data bounds",
);

describe("engineFailure", () => {
  it("takes code and message apart", () => {
    expect(engineFailure(NO_MEMORY)).toEqual({ ortCode: 6, message: "std::bad_alloc" });
    expect(engineFailure(new Error("invalid input 'z'"))).toEqual({
      ortCode: undefined,
      message: "invalid input 'z'",
    });
  });

  it("never leaves a bare number", () => {
    expect(engineFailure(20_144_288).message).toBe(
      "the engine failed without a message (exception 20144288)",
    );
  });

  it("drops places in the engine's source", () => {
    const text =
      "failed. ERROR_CODE: 1, ERROR_MESSAGE: /onnxruntime_src/onnxruntime/core/tensor/slice.cc:137 bad slice";
    expect(engineFailure(new Error(text)).message).toBe("bad slice");
  });
});

describe("what a failure means", () => {
  it("finds a kernel or feature that the GPU lacks", () => {
    expect(isMissingOnGpu(engineFailure(MISSING_KERNEL))).toBe(true);
    expect(isMissingOnGpu(engineFailure(NO_PROVIDER))).toBe(true);
    expect(isMissingOnGpu(engineFailure(NO_OPERATOR))).toBe(true);
    expect(isMissingOnGpu(engineFailure(NO_FP16))).toBe(true);
    expect(isMissingOnGpu(engineFailure(BAD_INDEX))).toBe(false);
  });

  it("sends a model elsewhere only from the GPU", () => {
    const failure = engineFailure(MISSING_KERNEL);
    expect(createError(failure, "webgpu").code).toBe("UNSUPPORTED");
    expect(createError(failure, "wasm")).toMatchObject({
      code: "INTERNAL",
      message: "onnx runtime error 9: Could not find an implementation for Add(14) node with name 'O'",
    });
  });

  it("tells want of memory from other faults", () => {
    expect(createError(engineFailure(NO_MEMORY), "wasm").code).toBe("UNAVAILABLE");
    expect(mayBeOneRequests(engineFailure(NO_MEMORY))).toBe(false);
    expect(mayBeOneRequests(engineFailure(BAD_INDEX))).toBe(true);
  });

  it("blames a bad argument on the request", () => {
    expect(runError(engineFailure(BAD_INDEX)).code).toBe("INVALID_ARG");
    expect(runError(engineFailure(NO_FP16)).code).toBe("INTERNAL");
  });

  it("recognises contradicting shapes", () => {
    const text = "ERROR_CODE: 6, ERROR_MESSAGE: [ShapeInferenceError] Can't merge shape info.";
    expect(hasContradictingShapes(engineFailure(new Error(text)))).toBe(true);
    expect(hasContradictingShapes(engineFailure(NO_MEMORY))).toBe(false);
  });
});
