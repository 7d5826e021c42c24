import { describe, expect, it } from "vitest";
import type { PlatformFacts } from "./judge-platform.ts";
import { judgePlatform } from "./judge-platform.ts";

const GIB = 1024 ** 3;
const ADAPTER = {
  index: 0,
  vendor: "nvidia",
  architecture: "hopper",
  description: "",
  isFallback: false,
  features: ["shader-f16"],
  maxBufferSize: 4 * GIB,
  maxStorageBufferBindingSize: 2 * GIB,
  maxStorageBuffersPerShaderStage: 8,
};
const FACTS: PlatformFacts = {
  userAgent: "test",
  isSecureContext: true,
  serviceWorker: "controls",
  hasWebLocks: true,
  hasWebGpu: true,
  hasWasmSimd: true,
  hasJspi: true,
  capabilities: {
    gpus: [ADAPTER],
    crossOriginIsolated: true,
    hardwareConcurrency: 16,
    wasmMemoryLimitBytes: 4 * GIB,
    deviceMemoryBytes: 8 * GIB,
  },
  storage: { quotaBytes: 60 * GIB, usageBytes: 0, isPersisted: true },
  clockResolutionNs: 5000,
};

/** Subjects of a severity, with their texts. */
function judged(change: Partial<PlatformFacts>, severity: "limit" | "problem"): readonly string[] {
  return judgePlatform({ ...FACTS, ...change })
    .filter((finding) => finding.severity === severity)
    .map(({ subject, text }) => `${subject}: ${text}`);
}

describe("judgePlatform", () => {
  it("finds everything good where everything is there", () => {
    expect(judgePlatform(FACTS)).toEqual([
      { severity: "good", subject: "WebAssembly", text: "SIMD, JSPI" },
      { severity: "good", subject: "secure context", text: "yes" },
      { severity: "good", subject: "service worker", text: "controls this page" },
      {
        severity: "good",
        subject: "isolation",
        text: "cross-origin isolated: CPU instances can have threads",
      },
      {
        severity: "good",
        subject: "GPU 0",
        text: "nvidia hopper; buffers up to 4 GiB, bound up to 2 GiB; FP16",
      },
      { severity: "good", subject: "storage", text: "60 GiB of 60 GiB free; what is stored is kept" },
      { severity: "good", subject: "timer", text: "steps of 5 us" },
      { severity: "good", subject: "machine", text: "16 cores, about 8 GiB of memory or more" },
    ]);
  });

  it.each<[string, Partial<PlatformFacts>, string]>([
    [
      "no secure context",
      { isSecureContext: false },
      "secure context: no: each page runs a server of its own",
    ],
    ["no service worker", { serviceWorker: "missing" }, "service worker: none to be had"],
    [
      "no isolation",
      { capabilities: { ...FACTS.capabilities, crossOriginIsolated: false } },
      "isolation: not cross-origin isolated",
    ],
    ["no locks", { hasWebLocks: false }, "Web Locks: none"],
    ["no WebGPU", { hasWebGpu: false }, "GPU: this browser has no WebGPU"],
    ["no adapter", { capabilities: { ...FACTS.capabilities, gpus: [] } }, "GPU: no adapter"],
    [
      "a software adapter",
      { capabilities: { ...FACTS.capabilities, gpus: [{ ...ADAPTER, isFallback: true }] } },
      "allowSoftwareGpu",
    ],
    [
      "no FP16",
      {
        capabilities: {
          ...FACTS.capabilities,
          gpus: [{ ...ADAPTER, features: [], vendor: "", architecture: "" }],
        },
      },
      "GPU 0: an adapter without a name; buffers up to 4 GiB, bound up to 2 GiB; no FP16",
    ],
    ["no quota", { storage: {} }, "storage: the browser tells no quota"],
    [
      "a small quota",
      { storage: { quotaBytes: GIB, usageBytes: GIB / 2 } },
      "storage: 512 MiB of 1 GiB free; what is stored may be removed",
    ],
    ["a coarse timer", { clockResolutionNs: 100_000 }, "timer: steps of 100 us"],
  ])("tells what %s means", (_, change, text) => {
    const limits = judged(change, "limit");
    expect(limits).toHaveLength(1);
    expect(limits[0]).toContain(text);
    expect(judged(change, "problem")).toEqual([]);
  });

  it("knows without what nothing works", () => {
    expect(judged({ hasWasmSimd: false }, "problem")).toEqual([
      "WebAssembly: no SIMD, which ONNX Runtime Web needs: update the browser",
    ]);
  });
});
