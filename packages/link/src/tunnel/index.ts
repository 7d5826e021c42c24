export type { TunnelAsker, TunnelRequest } from "./asking-end.ts";
export { createTunnelAsker } from "./asking-end.ts";
export type { ArrivingRequest, TunnelAnswerer, TunnelHandler } from "./answering-end.ts";
export { createTunnelAnswerer } from "./answering-end.ts";
export type { BodyEnd } from "./frame.ts";
export type { Defer, TunnelLine } from "./line.ts";
