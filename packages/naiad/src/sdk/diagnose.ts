import { clockResolution, createBrowserClock, probeCapabilities } from "@naiad/runtime/platform";
import type { PlatformFacts, PlatformFinding } from "./judge-platform.ts";
import { judgePlatform } from "./judge-platform.ts";

/** What this page has of everything that the server can make use of. */
export interface Diagnosis extends PlatformFacts {
  /** What the facts mean. */
  readonly findings: readonly PlatformFinding[];
}

/** A function with one SIMD instruction in it. */
const SIMD_MODULE = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0],
  ...[10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
);

/** Looks at the page that calls it, without a server. Never rejects; takes some seconds where the platform does not answer. */
export async function diagnose(): Promise<Diagnosis> {
  const clock = createBrowserClock();
  const { crossOriginIsolated } = globalThis;
  const [capabilities, storage] = await Promise.all([
    probeCapabilities({ navigator, crossOriginIsolated, clock }),
    storageFacts(),
  ]);
  const facts: PlatformFacts = {
    userAgent: navigator.userAgent,
    isSecureContext: globalThis.isSecureContext,
    serviceWorker: serviceWorkerFact(),
    hasWebLocks: "locks" in navigator,
    hasWebGpu: "gpu" in navigator,
    hasWasmSimd: WebAssembly.validate(SIMD_MODULE),
    hasJspi: "Suspending" in WebAssembly,
    capabilities,
    storage,
    clockResolutionNs: clockResolution(() => clock.nowNs()),
  };
  return { ...facts, findings: judgePlatform(facts) };
}

/** The member is missing outside of secure contexts, and in some private windows. */
function serviceWorkerFact(): PlatformFacts["serviceWorker"] {
  const { serviceWorker }: Partial<Pick<Navigator, "serviceWorker">> = navigator as Partial<Navigator>;
  if (serviceWorker === undefined) return "missing";
  return serviceWorker.controller === null ? "possible" : "controls";
}

async function storageFacts(): Promise<PlatformFacts["storage"]> {
  const { storage }: Partial<Pick<Navigator, "storage">> = navigator as Partial<Navigator>;
  try {
    const estimate = await storage?.estimate();
    const isPersisted = await storage?.persisted();
    return {
      ...(estimate?.quota !== undefined && { quotaBytes: estimate.quota }),
      ...(estimate?.usage !== undefined && { usageBytes: estimate.usage }),
      ...(isPersisted !== undefined && { isPersisted }),
    };
  } catch {
    // Some private windows reject instead.
    return {};
  }
}
