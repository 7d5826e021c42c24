import { InferenceError } from "@naiad/protocol";
import type { ModelClass } from "./model/model.ts";
import { typeName } from "./response-sender.ts";

/** The class that a model's module exports. INTERNAL where it exports none. */
export function modelClassOf(module: Readonly<Record<string, unknown>>, path: string): ModelClass {
  const { default: exported } = module;
  if (isClass(exported)) return exported;
  throw new InferenceError(
    "INTERNAL",
    `the default export of '${path}' must be a class with the method 'execute' (export default class { … }), ` +
      `found ${kindOf(exported)}`,
  );
}

function kindOf(exported: unknown): string {
  if (exported === undefined) return "none";
  return typeof exported === "function"
    ? "a function that is no class"
    : `a value of type '${typeName(exported)}'`;
}

/** Arrow functions, methods and generators are functions, too, but nothing can be made with them. */
function isClass(exported: unknown): exported is ModelClass {
  if (typeof exported !== "function") return false;
  try {
    // Calls nothing of the module's.
    Reflect.construct(Object, [], exported);
    return true;
  } catch {
    return false;
  }
}
