import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { main } from "../index.ts";
import { findingLines } from "./doctor.ts";
import type { NodeFacts } from "./diagnose-node.ts";
import { judgeNode, nodeFacts } from "./diagnose-node.ts";
import type { DoctorSite } from "./doctor-site.ts";
import { openDoctorSite } from "./doctor-site.ts";

let folder: string;
let site: DoctorSite;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "naiad-doctor-"));
  await writeFile(join(folder, "index.js"), "export const diagnose = 1;");
  site = await openDoctorSite(join(folder, "index.js"));
});
afterEach(async () => {
  await site.close();
  await rm(folder, { recursive: true });
});

const DIAGNOSIS = {
  userAgent: "Browser/1",
  findings: [
    { severity: "good", subject: "isolation", text: "yes" },
    { severity: "problem", subject: "x", text: "no" },
  ],
} as const;

async function report(content: object): Promise<void> {
  await fetch(`${site.url}report`, { method: "POST", body: JSON.stringify(content) });
}

const FOR_EVER = new AbortController().signal;

describe("the site of naiad doctor", () => {
  it("serves an isolated page with the SDK, and nothing elsewhere", async () => {
    const page = await fetch(site.url);
    expect(page.headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(page.headers.get("cross-origin-embedder-policy")).toBe("require-corp");
    expect(await page.text()).toContain('import("./index.js")');
    const sdk = await fetch(`${site.url}index.js`);
    expect(sdk.headers.get("content-type")).toMatch(/^text\/javascript/);
    expect(await sdk.text()).toBe("export const diagnose = 1;");
    expect((await fetch(new URL("/", site.url))).status).toBe(404);
  });

  it("resolves with what the page reports", async () => {
    const found = site.diagnosis(FOR_EVER);
    await report({ diagnosis: DIAGNOSIS });
    expect(await found).toEqual(DIAGNOSIS);
  });

  it("rejects with the error of the page, and when nothing comes", async () => {
    await expect(site.diagnosis(AbortSignal.abort(new Error("too late")))).rejects.toThrow("too late");
    const rejection = expect(site.diagnosis(FOR_EVER)).rejects.toThrow("the page failed: no such module");
    await report({ error: "no such module" });
    await rejection;
  });
});

describe("naiad doctor", () => {
  it("prints a line for each finding", () => {
    expect(findingLines(DIAGNOSIS.findings)).toEqual([
      "  ok       isolation  yes",
      "  PROBLEM  x          no",
    ]);
  });

  it("looks at Node.js instead, with its engine", async () => {
    const out: string[] = [];
    const io = { out: (line: string) => void out.push(line), error: () => undefined };
    expect(await main(["doctor", "--runtime", "node"], io)).toBe(0);
    expect(out[0]).toContain(`Node.js ${process.version}`);
    expect(out[1]).toMatch(
      /^ {2}ok +engine +onnxruntime-web [\d.]+ with SIMD and threads, ONNX opset \d+ and below$/,
    );
    out.length = 0;
    expect(await main(["doctor", "--runtime", "node", "--json"], io)).toBe(0);
    const { cores, memoryBytes, findings } = JSON.parse(out.join("\n")) as NodeFacts & { findings: object[] };
    expect(cores).toBeGreaterThan(0);
    expect(memoryBytes).toBeGreaterThan(2 ** 28);
    expect(findings).toHaveLength(5);
  });

  it("tells of an engine that does not compile, and of little space", async () => {
    const facts = await nodeFacts(folder);
    expect(judgeNode({ ...facts, temporaryFreeBytes: 1e6 })).toMatchObject([
      {
        severity: "problem",
        subject: "engine",
        text: expect.stringContaining("does not compile: ENOENT") as string,
      },
      { severity: "limit", subject: "GPU" },
      { severity: "good", subject: "machine" },
      { severity: "limit", subject: "temporary files" },
      { severity: "good", subject: "timer" },
    ]);
  });

  it("tells a wrong command line, and a browser that does not start", async () => {
    const error: string[] = [];
    const run = (...argv: readonly string[]) =>
      main(["doctor", ...argv], { out: () => undefined, error: (line) => void error.push(line) });
    expect(await run("x")).toBe(2);
    expect(await run("--gpu", "two")).toBe(2);
    expect(await run("--timeout-secs", "0")).toBe(2);
    expect(await run("--runtime", "deno")).toBe(2);
    expect(await run("--runtime", "node", "--gpu", "off")).toBe(2);
    expect(error.at(-1)).toContain("--gpu is about a browser, and --runtime is node");
    expect(await run("--browser", join(folder, "none"))).toBe(1);
    expect(error.at(-1)).toContain("does not start");
  });
});
