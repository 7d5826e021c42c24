import { createFileRegistry, create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { EchoServer } from "@naiad/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect, type Connection } from "../test/clients.ts";
import { messageQueue } from "../test/message-queue.ts";
import { ServerReflection, type ServerReflectionRequestSchema } from "./gen/reflection_pb.ts";

type Asked = NonNullable<MessageInitShape<typeof ServerReflectionRequestSchema>["messageRequest"]>;

let connection: Connection;
beforeEach(async () => {
  connection = await connect("gRPC", { handlers: new EchoServer() });
});
afterEach(() => connection.close());

/** What the server says to each question, asked in one stream. */
async function ask(...questions: readonly Asked[]): Promise<readonly unknown[]> {
  const requests = messageQueue(...questions.map((messageRequest) => ({ host: "h", messageRequest })));
  requests.end();
  const answers: unknown[] = [];
  const responses = createClient(ServerReflection, connection.transport).serverReflectionInfo(requests);
  for await (const { messageResponse, validHost } of responses) {
    expect(validHost).toBe("h");
    if (messageResponse.case !== "fileDescriptorResponse") answers.push(messageResponse.value);
    else
      answers.push(
        messageResponse.value.fileDescriptorProto.map((file) => fromBinary(FileDescriptorProtoSchema, file)),
      );
  }
  return answers;
}

async function filesOf(asked: Asked): Promise<readonly string[]> {
  const [answer] = await ask(asked);
  if (!Array.isArray(answer)) throw new Error("no files");
  return answer.map((file: MessageInitShape<typeof FileDescriptorProtoSchema>) => file.name ?? "");
}

describe("reflection", () => {
  it("names the services", async () => {
    expect(await ask({ case: "listServices", value: "*" })).toMatchObject([
      {
        service: [
          { name: "inference.GRPCInferenceService" },
          { name: "grpc.health.v1.Health" },
          { name: "grpc.reflection.v1.ServerReflection" },
        ],
      },
    ]);
  });

  it.each([
    "inference.GRPCInferenceService",
    "inference.GRPCInferenceService.ModelInfer",
    "inference.ModelInferRequest.InferInputTensor",
    "inference.ModelInferRequest.model_name",
  ])("finds the file with %s, and what it imports", async (symbol) => {
    expect(await filesOf({ case: "fileContainingSymbol", value: symbol })).toEqual([
      "grpc_service.proto",
      "model_config.proto",
    ]);
  });

  it("finds files by their names, and values of enums", async () => {
    expect(await filesOf({ case: "fileByFilename", value: "health.proto" })).toEqual(["health.proto"]);
    expect(await filesOf({ case: "fileContainingSymbol", value: "inference.DataType.TYPE_FP32" })).toEqual([
      "model_config.proto",
    ]);
  });

  it("gives all that a client needs to call the server without its files", async () => {
    const [file = []] = await ask({ case: "fileContainingSymbol", value: "inference.GRPCInferenceService" });
    // Files come after what imports them, and a registry wants them before.
    const files = [...(file as MessageInitShape<typeof FileDescriptorProtoSchema>[])].reverse();
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: files }));
    expect(registry.getService("inference.GRPCInferenceService")?.methods.map(({ name }) => name)).toContain(
      "ModelStreamInfer",
    );
  });

  it("says what there is not", async () => {
    expect(
      await ask(
        { case: "fileByFilename", value: "other.proto" },
        { case: "fileContainingSymbol", value: "inference.Nothing" },
        { case: "fileContainingSymbol", value: "nothing" },
        {
          case: "fileContainingExtension",
          value: { containingType: "inference.ModelConfig", extensionNumber: 7 },
        },
        { case: "allExtensionNumbersOfType", value: "inference.ModelConfig" },
        { case: undefined },
      ),
    ).toMatchObject([
      { errorCode: 5, errorMessage: "not found: other.proto" },
      { errorCode: 5, errorMessage: "not found: inference.Nothing" },
      { errorCode: 5, errorMessage: "not found: nothing" },
      { errorCode: 5, errorMessage: "no extension 7 of inference.ModelConfig" },
      { errorCode: 5, errorMessage: "no extensions of inference.ModelConfig" },
      { errorCode: 3, errorMessage: "nothing is asked" },
    ]);
  });

  it("answers by its older name too", async () => {
    const old = { ...ServerReflection, typeName: "grpc.reflection.v1alpha.ServerReflection" };
    const method = { ...ServerReflection.method.serverReflectionInfo, parent: old };
    const requests = messageQueue({ messageRequest: { case: "listServices" as const, value: "" } });
    requests.end();
    const { message } = await connection.transport.stream(
      method,
      undefined,
      undefined,
      undefined,
      (async function* () {
        for await (const request of requests) yield request;
      })(),
    );
    let count = 0;
    for await (const { messageResponse } of message) {
      if (messageResponse.case === "listServicesResponse") count += messageResponse.value.service.length;
    }
    expect(count).toBe(3);
  });
});
