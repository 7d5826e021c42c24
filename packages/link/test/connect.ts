import type { DemoConnection, DemoFaults } from "@naiad/testing";
import { connectDemo, LOST } from "@naiad/testing";
import { onTestFinished } from "vitest";

/** Two channels over a pair of endpoints, closed when the test is over. */
export function connect(
  endpoints: Parameters<typeof connectDemo>[0],
  faults: DemoFaults = {},
): DemoConnection {
  const connection = connectDemo(endpoints, faults);
  onTestFinished(() => {
    connection.answering.close(LOST);
    connection.asking.close(LOST);
  });
  return connection;
}
