import { createRegistry, type DescFile, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import type { ServerReflectionRequest, ServerReflectionResponseSchema } from "./gen/reflection_pb.ts";

type ReflectionResponse = MessageInitShape<typeof ServerReflectionResponseSchema>;
type Message = NonNullable<ReflectionResponse["messageResponse"]>;

/** Tells tools such as grpcurl what is defined in `files`, which name each service that there is. */
export function createReflection(
  files: readonly DescFile[],
): (requests: AsyncIterable<ServerReflectionRequest>) => AsyncGenerator<ReflectionResponse> {
  const all = [...new Set(files.flatMap(withImports))];
  const registry = createRegistry(...all);
  const byName = new Map(all.map((file) => [file.proto.name, file]));
  const services = all.flatMap((file) => file.services.map(({ typeName }) => ({ name: typeName })));

  function answer({ messageRequest: request }: ServerReflectionRequest): Message {
    switch (request.case) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: services } };
      case "fileByFilename":
        return fileAnswer(byName.get(request.value), request.value);
      case "fileContainingSymbol":
        return fileAnswer(fileOf(request.value), request.value);
      case "fileContainingExtension":
        return failure(`no extension ${request.value.extensionNumber} of ${request.value.containingType}`);
      case "allExtensionNumbersOfType":
        return failure(`no extensions of ${request.value}`);
      case undefined:
        return {
          case: "errorResponse",
          value: { errorCode: Code.InvalidArgument, errorMessage: "nothing is asked" },
        };
    }
  }

  /** Of a type or a service, or of something that is named inside one. */
  function fileOf(symbol: string): DescFile | undefined {
    const owner = registry.get(symbol);
    if (owner !== undefined) return owner.file;
    const end = symbol.lastIndexOf(".");
    const parent = end === -1 ? undefined : registry.get(symbol.slice(0, end));
    const name = symbol.slice(end + 1);
    return parent !== undefined && namesIn(parent).includes(name) ? parent.file : undefined;
  }

  return async function* (requests) {
    for await (const request of requests) {
      yield { validHost: request.host, originalRequest: request, messageResponse: answer(request) };
    }
  };
}

function namesIn(type: NonNullable<ReturnType<ReturnType<typeof createRegistry>["get"]>>): readonly string[] {
  switch (type.kind) {
    case "service":
      return type.methods.map(({ name }) => name);
    case "message":
      return [...type.fields, ...type.oneofs].map(({ name }) => name);
    case "enum":
      return type.values.map(({ name }) => name);
    case "extension":
      return [];
  }
}

/** The file, and after it what it imports: readers take them in any order. */
function fileAnswer(file: DescFile | undefined, asked: string): Message {
  if (file === undefined) return failure(`not found: ${asked}`);
  const encoded = withImports(file).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto: encoded } };
}

function failure(errorMessage: string): Message {
  return { case: "errorResponse", value: { errorCode: Code.NotFound, errorMessage } };
}

function withImports(file: DescFile): readonly DescFile[] {
  return [...new Set([file, ...file.dependencies.flatMap(withImports)])];
}
