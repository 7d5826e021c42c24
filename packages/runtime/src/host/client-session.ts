import { createChannel } from "@naiad/link";
import type { CallContext, ChannelHandlers, EmptyContract, Endpoint, FaultHook, Reply } from "@naiad/link";
import type {
  ClientContract,
  InferenceResponse,
  OperationInput,
  OperationName,
  OperationOutput,
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

  const forward =
    <Name extends OperationName>(name: Name) =>
    async (input: OperationInput<Name>, context: CallContext): Promise<Reply<OperationOutput<Name>>> => ({
      value: await operations[name](input, context),
    });

  const handlers: ChannelHandlers<ClientContract> = {
    calls: {
      serverLive: forward("serverLive"),
      serverReady: forward("serverReady"),
      serverMetadata: forward("serverMetadata"),
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
      events: async function* (_input, { signal }) {
        for await (const value of eventStream(services.subscribe, signal)) yield { value };
      },
    },
    notes: {},
  };

  return createChannel<EmptyContract, ClientContract>(port, handlers, {
    peer: `client ${peerId}`,
    ...(fault && { fault }),
  });
}

function giveResponse(response: InferenceResponse): Reply<InferenceResponse> {
  const { value: outputs, transfer } = giveTensors(response.outputs);
  return { value: { ...response, outputs }, transfer };
}
