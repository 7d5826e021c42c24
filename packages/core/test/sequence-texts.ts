import type { InstanceRequest } from "@naiad/core";
import { firstElement } from "@naiad/testing";

/** The control inputs of a request. */
export function flagsOf({ inputs }: InstanceRequest): string {
  return ["START", "END", "READY", "ID"].map((name) => firstElement(inputs, name)).join();
}

export const START_TEXT = (id: string): string =>
  `INVALID_ARG inference request for sequence ${id} to model 'm' must specify the START flag on the first request of ` +
  "the sequence";
