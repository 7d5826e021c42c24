import type { NaiadServer, StartServerOptions } from "naiad";
import * as naiad from "naiad";
import type * as perf from "naiad/perf";
import type * as grpcClient from "./grpc-client.ts";
import type * as grpcGuide from "./grpc-guide.ts";

/** What tests find on the page: the package, and the server that `start` brought up. */
export interface TestPage {
  readonly naiad: typeof naiad;
  server: NaiadServer;
  start(options?: Partial<StartServerOptions>): Promise<NaiadServer>;
  /** Clients of gRPC-Web and Connect, loaded when a test wants them. */
  grpc(): Promise<typeof grpcClient>;
  /** The examples of docs/guide/grpc.md. */
  grpcGuide(): Promise<typeof grpcGuide>;
  perf(): Promise<typeof perf>;
}

declare global {
  interface Window {
    test: TestPage;
  }
}

const test: TestPage = {
  naiad,
  get server(): NaiadServer {
    throw new Error("the test has not started a server");
  },
  async start(options = {}) {
    const server = await naiad.startServer({
      modelRepository: "/models/",
      allowSoftwareGpu: false,
      ...options,
    });
    Object.defineProperty(test, "server", { value: server, configurable: true });
    return server;
  },
  grpc: () => import("./grpc-client.ts"),
  grpcGuide: () => import("./grpc-guide.ts"),
  perf: () => import("naiad/perf"),
};
window.test = test;
