import type { CacheConfig } from "@naiad/protocol";
import type { Clock, Logger } from "../../ports.ts";
import { LocalResponseCache } from "./local-response-cache.ts";
import type { ResponseCache } from "./response-cache.ts";

/** The cache that the server's options ask for. */
export function createResponseCache(
  config: CacheConfig,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): ResponseCache | undefined {
  switch (config.kind) {
    case "none":
      return undefined;
    case "local":
      logger.log("info", `Response Cache is created with size ${config.byteSize}`);
      return new LocalResponseCache({ byteSize: config.byteSize, clock });
  }
}
