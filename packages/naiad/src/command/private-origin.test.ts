import { expect, it, onTestFinished } from "vitest";
import type { PrivateOriginOptions } from "./private-origin.ts";
import { openPrivateOrigin, privateBase } from "./private-origin.ts";

async function open(answer: PrivateOriginOptions["answer"]): Promise<string> {
  const origin = await openPrivateOrigin({ base: privateBase(), page: "<p>here</p>", answer });
  onTestFinished(() => origin.close());
  return `http://${origin.address}`;
}

it("has its page at the base and its answers below it, isolated, and nothing elsewhere", async () => {
  const url = await open(({ name, response }) => {
    response.end(name);
    return Promise.resolve();
  });
  const page = await fetch(`${url}?query`);
  expect(await page.text()).toBe("<p>here</p>");
  const below = await fetch(`${url}a/b?query`);
  expect(await below.text()).toBe("a/b");
  for (const { headers } of [page, below]) {
    expect(headers.get("cross-origin-opener-policy")).toBe("same-origin");
    expect(headers.get("cross-origin-embedder-policy")).toBe("require-corp");
  }
  expect((await fetch(new URL("/a/b", url))).status).toBe(404);
  expect((await fetch(url, { method: "POST" })).status).toBe(405);
});

it("tells of an answer that fails, and breaks off one that has begun", async () => {
  const url = await open(({ name, response }) => {
    if (name === "begun") response.write("half");
    return Promise.reject(new Error("no such file"));
  });
  expect((await fetch(`${url}other`)).status).toBe(500);
  await expect(fetch(`${url}begun`).then((response) => response.text())).rejects.toThrow();
});
