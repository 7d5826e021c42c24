import type { StartFailed } from "@naiad/runtime/contracts";
import { WIRE_VERSION } from "@naiad/runtime/contracts";
import type { GatewayRegistration } from "./gateway-registration.ts";
import { isHostQuestion } from "./host-question.ts";

/**
 * Tells the service worker why there is no server, now and whenever it asks, so that requests of this page need not wait for
 * one that does not come. The result ends that.
 */
export function tellOfFailedStart(gateway: GatewayRegistration, base: string, reason: string): () => void {
  const { container } = gateway;
  const message: StartFailed = { naiad: "start-failed", wireVersion: WIRE_VERSION, base, reason };
  const tell = (): void => {
    gateway.active()?.postMessage(message);
  };
  const listen = ({ data }: MessageEvent<unknown>): void => {
    if (isHostQuestion(data, base) && data.kind === "gateway") tell();
  };
  container.addEventListener("message", listen);
  container.startMessages();
  tell();
  return () => {
    container.removeEventListener("message", listen);
  };
}
