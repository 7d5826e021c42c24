import { totalmem } from "node:os";

/** Of the machine, or what the container may have of it. */
export function memoryBytes(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}
