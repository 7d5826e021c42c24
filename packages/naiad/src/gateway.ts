export { installGateway } from "@naiad/runtime/gateway";
export type { GatewayOptions } from "@naiad/runtime/gateway";
