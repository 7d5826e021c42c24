/** The part of a service worker's global scope that a gateway needs, so that it also runs on a fake. */
export interface GatewayScope {
  readonly location: { readonly origin: string; readonly search: string };
  readonly registration: { readonly scope: string };
  readonly clients: GatewayClients;
  skipWaiting(): Promise<void>;
  addEventListener(type: "fetch", listener: (event: GatewayFetchEvent) => void): void;
  addEventListener(type: "message", listener: (event: GatewayMessageEvent) => void): void;
  addEventListener(type: "install" | "activate", listener: (event: GatewayEvent) => void): void;
}

export interface GatewayClients {
  claim(): Promise<void>;
  get(id: string): Promise<GatewayClient | undefined>;
  matchAll(options: {
    readonly type: "window";
    readonly includeUncontrolled: true;
  }): Promise<readonly GatewayClient[]>;
}

export interface GatewayClient {
  readonly id: string;
  postMessage(message: unknown, transfer: Transferable[]): void;
}

export interface GatewayEvent {
  waitUntil(work: Promise<unknown>): void;
}

export interface GatewayFetchEvent extends GatewayEvent {
  readonly request: Request;
  readonly clientId: string;
  respondWith(response: Promise<Response>): void;
}

export interface GatewayMessageEvent extends GatewayEvent {
  readonly data: unknown;
  readonly ports: readonly MessagePort[];
  readonly source: unknown;
}
