import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Diagnosis } from "../../sdk/diagnose.ts";
import { main } from "../index.ts";
import { diagnosisLines } from "./doctor.ts";
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
    expect(diagnosisLines("/bin/browser", DIAGNOSIS as unknown as Diagnosis)).toEqual([
      "/bin/browser: Browser/1",
      "  ok       isolation  yes",
      "  PROBLEM  x          no",
    ]);
  });

  it("tells a wrong command line, and a browser that does not start", async () => {
    const error: string[] = [];
    const run = (...argv: readonly string[]) =>
      main(["doctor", ...argv], { out: () => undefined, error: (line) => void error.push(line) });
    expect(await run("x")).toBe(2);
    expect(await run("--gpu", "two")).toBe(2);
    expect(await run("--timeout-secs", "0")).toBe(2);
    expect(await run("--browser", join(folder, "none"))).toBe(1);
    expect(error.at(-1)).toContain("does not start");
  });
});
