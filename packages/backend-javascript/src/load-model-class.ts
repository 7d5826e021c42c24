import { InferenceError } from "@naiad/protocol";
import type { ModelClass } from "./model/model.ts";

/** The class that a model's module exports. INTERNAL where it exports none. */
export function modelClassOf(module: Readonly<Record<string, unknown>>, path: string): ModelClass {
  const { default: exported } = module;
  if (typeof exported === "function") return exported as unknown as ModelClass;
  throw new InferenceError(
    "INTERNAL",
    `module '${path}' has no default export that is a class: it must say 'export default class { … }'`,
  );
}
