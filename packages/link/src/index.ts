export * from "./types.ts";
export * from "./channel.ts";
export * from "./control.ts";
export * from "./liveness.ts";
export * from "./local-locks.ts";
export * from "./serial-queue.ts";
