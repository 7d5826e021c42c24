import type { ModelClass } from "./model/model.ts";

/** A model's code, ready to run. */
export interface LoadedCode {
  readonly modelClass: ModelClass;
  /** Of its main file, in the model's directory. */
  readonly path: string;
  /** The file that stands behind an address in a stack trace. */
  readonly pathOf: (url: string) => string | undefined;
}
