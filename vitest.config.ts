import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts", "conformance/src/**/*.test.ts"],
    setupFiles: ["scripts/vitest/fail-on-console.ts"],
    testTimeout: 20_000,
  },
});
