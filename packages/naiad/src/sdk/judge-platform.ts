import type { Capabilities, GpuAdapter } from "@naiad/protocol";

/** What a page can find out about where it runs. */
export interface PlatformFacts {
  readonly userAgent: string;
  readonly isSecureContext: boolean;
  /** `controls`: it answers `fetch` of this page. */
  readonly serviceWorker: "missing" | "possible" | "controls";
  readonly hasWebLocks: boolean;
  readonly hasWebGpu: boolean;
  readonly hasWasmSimd: boolean;
  /** WebAssembly can wait for promises, so that the smaller engine for GPUs can be used. */
  readonly hasJspi: boolean;
  readonly capabilities: Capabilities;
  readonly storage: {
    readonly quotaBytes?: number;
    readonly usageBytes?: number;
    readonly isPersisted?: boolean;
  };
  /** The smallest step of `performance.now()`. */
  readonly clockResolutionNs: number;
}

export interface PlatformFinding {
  /** `limit`: it works with less; `problem`: something does not work. */
  readonly severity: "good" | "limit" | "problem";
  readonly subject: string;
  /** What is so, and what to do about it where something can be done. */
  readonly text: string;
}

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

/** What the facts mean for models that are to be served here. */
export function judgePlatform(facts: PlatformFacts): readonly PlatformFinding[] {
  return [
    ...engine(facts),
    ...context(facts),
    ...gpus(facts),
    ...storage(facts),
    timer(facts),
    machine(facts.capabilities),
  ];
}

function engine({ hasJspi, hasWasmSimd }: PlatformFacts): readonly PlatformFinding[] {
  if (!hasWasmSimd) {
    return [problem("WebAssembly", "no SIMD, which ONNX Runtime Web needs: update the browser")];
  }
  return [good("WebAssembly", `SIMD, ${hasJspi ? "JSPI" : "no JSPI: a larger engine is loaded for GPUs"}`)];
}

function context(facts: PlatformFacts): readonly PlatformFinding[] {
  const { capabilities, hasWebLocks, isSecureContext, serviceWorker } = facts;
  return [
    isSecureContext
      ? good("secure context", "yes")
      : limit(
          "secure context",
          "no: each page runs a server of its own, without a service worker, stored models and WebGPU; use https or localhost",
        ),
    serviceWorker === "missing"
      ? limit(
          "service worker",
          "none to be had, as in private windows: fetch of pages is not answered, the SDK works",
        )
      : good("service worker", serviceWorker === "controls" ? "controls this page" : "possible"),
    capabilities.crossOriginIsolated
      ? good("isolation", "cross-origin isolated: CPU instances can have threads")
      : limit(
          "isolation",
          "not cross-origin isolated: one thread for each CPU instance; send Cross-Origin-Opener-Policy: same-origin and " +
            "Cross-Origin-Embedder-Policy: require-corp",
        ),
    ...(hasWebLocks ? [] : [limit("Web Locks", "none: pages cannot share one server")]),
  ];
}

function gpus({ capabilities, hasWebGpu }: PlatformFacts): readonly PlatformFinding[] {
  const adapters = capabilities.gpus;
  if (!hasWebGpu) {
    return [limit("GPU", "this browser has no WebGPU here: models run on the CPU")];
  }
  if (adapters.length === 0) {
    return [
      limit(
        "GPU",
        "no adapter: models run on the CPU. Chromium tells why on chrome://gpu; on Linux it may need " +
          "--enable-unsafe-webgpu --enable-features=Vulkan",
      ),
    ];
  }
  return adapters.map(adapterFinding);
}

function adapterFinding(adapter: GpuAdapter): PlatformFinding {
  const subject = `GPU ${adapter.index}`;
  const name = [adapter.vendor, adapter.architecture, adapter.description]
    .filter((part) => part !== "")
    .join(" ");
  const hasHalf = adapter.features.includes("shader-f16");
  const facts =
    `${name === "" ? "an adapter without a name" : name}; buffers up to ${size(adapter.maxBufferSize)}, bound up to ` +
    `${size(adapter.maxStorageBufferBindingSize)}; ${hasHalf ? "FP16" : "no FP16: such models run on the CPU"}`;
  if (adapter.isFallback) {
    return limit(subject, `${facts}; made of software, so it counts as a GPU only with allowSoftwareGpu`);
  }
  return hasHalf ? good(subject, facts) : limit(subject, facts);
}

function storage({
  storage: { isPersisted, quotaBytes, usageBytes = 0 },
}: PlatformFacts): readonly PlatformFinding[] {
  if (quotaBytes === undefined) {
    return [limit("storage", "the browser tells no quota: models may have to be downloaded again")];
  }
  const free = Math.max(quotaBytes - usageBytes, 0);
  const fate =
    isPersisted === true ? "is kept" : "may be removed when the disk gets full, see persistStorage";
  const text = `${size(free)} of ${size(quotaBytes)} free; what is stored ${fate}`;
  return [free < GIB ? limit("storage", text) : good("storage", text)];
}

/** Isolated pages have steps of 5 us, others of 100 us. */
function timer({ clockResolutionNs }: PlatformFacts): PlatformFinding {
  const text = `steps of ${Number((clockResolutionNs / 1000).toPrecision(3))} us`;
  return clockResolutionNs > 20_000
    ? limit("timer", `${text}: no duration in statistics is more exact; isolated pages have finer ones`)
    : good("timer", text);
}

function machine({ deviceMemoryBytes, hardwareConcurrency }: Capabilities): PlatformFinding {
  const memory =
    deviceMemoryBytes === undefined
      ? "memory not told"
      : `about ${size(deviceMemoryBytes)} of memory or more`;
  return good("machine", `${hardwareConcurrency} cores, ${memory}`);
}

function size(bytes: number): string {
  return bytes >= GIB ? `${Number((bytes / GIB).toPrecision(3))} GiB` : `${Math.round(bytes / MIB)} MiB`;
}

function good(subject: string, text: string): PlatformFinding {
  return { severity: "good", subject, text };
}

function limit(subject: string, text: string): PlatformFinding {
  return { severity: "limit", subject, text };
}

function problem(subject: string, text: string): PlatformFinding {
  return { severity: "problem", subject, text };
}
