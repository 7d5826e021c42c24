import { createChannel } from "@naiad/link";
import type { CallContext, ChannelHandlers, EmptyContract, Endpoint, FaultHook, Reply } from "@naiad/link";
import type {
  ClientContract,
  InferenceResponse,
  InferenceStreamResponse,
  OperationInput,
  OperationName,
  OperationOutput,
  UnaryOperationHandlers,
} from "@naiad/protocol";
import { eventStream } from "./event-stream.ts";
import type { HostServices, Session } from "./session.ts";
import { giveTensors } from "./tensor-transfer.ts";

export interface ClientSessionOptions {
  readonly port: Endpoint;
  readonly peerId: string;
  readonly services: HostServices;
  readonly fault?: FaultHook;
}

/** Serves the operations to an SDK, without HTTP and without a codec. */
export function createClientSession({ port, peerId, services, fault }: ClientSessionOptions): Session {
  const { operations } = services;
  const unary: UnaryOperationHandlers = operations;

  const forward =
    <Name extends OperationName>(name: Name) =>
    async (input: OperationInput<Name>, context: CallContext): Promise<Reply<OperationOutput<Name>>> => ({
      value: await unary[name](input, context),
    });

  const handlers: ChannelHandlers<ClientContract> = {
    calls: {
      serverLive: forward("serverLive"),
      serverReady: forward("serverReady"),
      serverMetadata: forward("serverMetadata"),
      serverMetrics: forward("serverMetrics"),
      modelReady: forward("modelReady"),
      modelMetadata: forward("modelMetadata"),
      modelConfig: forward("modelConfig"),
      modelStatistics: forward("modelStatistics"),
      modelInfer: async (input, context) => giveResponse(await operations.modelInfer(input, context)),
      repositoryIndex: forward("repositoryIndex"),
      repositoryModelLoad: forward("repositoryModelLoad"),
      repositoryModelUnload: forward("repositoryModelUnload"),
      traceSetting: forward("traceSetting"),
      logSettings: forward("logSettings"),
      systemSharedMemoryStatus: forward("systemSharedMemoryStatus"),
      systemSharedMemoryRegister: forward("systemSharedMemoryRegister"),
      systemSharedMemoryUnregister: forward("systemSharedMemoryUnregister"),
      cudaSharedMemoryStatus: forward("cudaSharedMemoryStatus"),
      cudaSharedMemoryRegister: forward("cudaSharedMemoryRegister"),
      cudaSharedMemoryUnregister: forward("cudaSharedMemoryUnregister"),
      hostInfo: () => Promise.resolve({ value: services.info }),
      instances: () => Promise.resolve({ value: services.instances() }),
    },
    streams: {
      modelStreamInfer: async function* (input, context) {
        for await (const response of await operations.modelStreamInfer(input, context)) {
          yield giveResponse(response);
        }
      },
      events: async function* (_input, { signal }) {
        for await (const value of eventStream(services.subscribe, signal)) yield { value };
      },
      traces: async function* (_input, { signal }) {
        for await (const value of services.traces(signal)) yield { value };
      },
    },
    notes: {},
  };

  return createChannel<EmptyContract, ClientContract>(port, handlers, {
    peer: `client ${peerId}`,
    ...(fault && { fault }),
  });
}

function giveResponse<Response extends InferenceResponse | InferenceStreamResponse>(
  response: Response,
): Reply<Response> {
  const { value: outputs, transfer } = giveTensors(response.outputs);
  return { value: { ...response, outputs }, transfer };
}
