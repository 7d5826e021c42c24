import { expect, it } from "vitest";
import { persistStorage } from "./persist-storage.ts";

function storage(persisted: boolean, persist: boolean) {
  const asked: string[] = [];
  return {
    asked,
    persisted: () => Promise.resolve(persisted),
    persist: () => {
      asked.push("persist");
      return Promise.resolve(persist);
    },
  };
}

it("asks nobody where storage is persistent already", async () => {
  const given = storage(true, false);
  expect(await persistStorage(given)).toMatchObject({ level: "info" });
  expect(given.asked).toEqual([]);
});

it("tells what the browser answered", async () => {
  expect(await persistStorage(storage(false, true))).toEqual({
    level: "info",
    message: "stored models are kept: the browser gave this site persistent storage",
  });
  expect(await persistStorage(storage(false, false))).toEqual({
    level: "warning",
    message:
      "stored models may be removed by the browser when the disk gets full: it refused persistent storage to this site",
  });
});

it("tells where nobody can be asked", async () => {
  expect(await persistStorage(undefined)).toMatchObject({ level: "warning" });
});
