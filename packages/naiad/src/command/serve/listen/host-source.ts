import type { TunnelAsker } from "@naiad/link/tunnel";

/** Where requests go: the host in the browser, or nowhere, for a reason. */
export type HostState =
  | { readonly kind: "serving"; readonly tunnel: TunnelAsker }
  | { readonly kind: "absent"; readonly reason: string };

export type HostSource = () => HostState;
