import { InferenceError, type RestrictedApi, type RestrictedCategory } from "@naiad/protocol";
import type { CallHeaders } from "./call-context.ts";

const PREFIX = "triton-grpc-protocol-";

/** Throws for a call of a restricted category that lacks its header. */
export type CheckAccess = (category: RestrictedCategory | undefined, headers: CallHeaders) => void;

export function createAccessCheck(protocols: readonly RestrictedApi[]): CheckAccess {
  const byCategory = new Map(
    protocols.flatMap((protocol) => protocol.categories.map((category) => [category, protocol])),
  );
  return (category, headers) => {
    const protocol = category === undefined ? undefined : byCategory.get(category);
    if (protocol === undefined) return;
    const header = PREFIX + protocol.header;
    if (headers.get(header) === protocol.value) return;
    throw new InferenceError("UNAVAILABLE", `This protocol is restricted, expecting header '${header}'`);
  };
}
