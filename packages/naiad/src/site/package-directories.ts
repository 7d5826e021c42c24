import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Where the files lie that a site is made of; tests give their own. */
export interface PackageDirectories {
  /** The built package's `dist`. */
  readonly dist: string;
  /** onnxruntime-web's `dist`. */
  readonly ort: string;
}

/** Those of the installed packages. */
export function ownDirectories(): PackageDirectories {
  const require = createRequire(import.meta.url);
  return {
    dist: join(dirname(require.resolve("naiad/package.json")), "dist"),
    ort: dirname(require.resolve("onnxruntime-web/ort-wasm-simd-threaded.wasm")),
  };
}
