import { afterEach, beforeEach } from "vitest";

/** A test that prints is a test whose product prints: it fails with what was said. */
const METHODS = ["log", "info", "warn", "error", "debug"] as const;
const originals = METHODS.map((method) => ({ method, original: console[method].bind(console) }));
let said: string[] = [];

beforeEach(() => {
  said = [];
  for (const { method } of originals) {
    console[method] = (...values: unknown[]): void => {
      said.push(`console.${method}: ${values.map(String).join(" ")}`);
    };
  }
});

afterEach(() => {
  for (const { method, original } of originals) console[method] = original;
  if (said.length > 0) throw new Error(`the test printed:\n${said.join("\n")}`);
});
