import { describeFileStore } from "@naiad/testing";
import { createMemoryFileStore } from "./memory-file-store.ts";
import { withMemoryFallback } from "./memory-fallback.ts";

describeFileStore("memory", createMemoryFileStore);
describeFileStore("a store with memory behind it", () =>
  withMemoryFallback(createMemoryFileStore(), () => undefined),
);
