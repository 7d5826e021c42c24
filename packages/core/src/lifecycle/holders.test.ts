import { expect, it } from "vitest";
import { createHolders } from "./holders.ts";

function setUp() {
  let freed = 0;
  const holders = createHolders(() => {
    freed += 1;
    return Promise.resolve();
  });
  return { ...holders, freed: () => freed };
}

it("frees at once what nobody holds, and once", async () => {
  const { retire, freed } = setUp();
  const first = retire();
  expect(freed()).toBe(1);
  await Promise.all([first, retire()]);
  expect(freed()).toBe(1);
});

it("frees when the last holder lets go", async () => {
  const { hold, retire, freed } = setUp();
  const letGo = [hold(), hold()];
  const retired = retire();
  letGo[0]?.();
  await Promise.resolve();
  expect(freed()).toBe(0);
  letGo[1]?.();
  await retired;
  expect(freed()).toBe(1);
});

it("frees nothing that is only let go", () => {
  const { hold, freed } = setUp();
  hold()();
  expect(freed()).toBe(0);
});
