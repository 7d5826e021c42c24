import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { NAIAD_VERSION, SERVER_VERSION } from "./version.ts";

it("is the version of the published package", async () => {
  const text = await readFile(new URL("../../naiad/package.json", import.meta.url), "utf8");
  expect(JSON.parse(text)).toMatchObject({ version: NAIAD_VERSION });
  expect(SERVER_VERSION).toContain(NAIAD_VERSION);
});
