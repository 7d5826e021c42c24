const TYPES: readonly (readonly [suffix: string, type: string])[] = [
  [".js", "text/javascript; charset=utf-8"],
  [".mjs", "text/javascript; charset=utf-8"],
  [".wasm", "application/wasm"],
  [".json", "application/json; charset=utf-8"],
  [".map", "application/json; charset=utf-8"],
  [".pbtxt", "text/plain; charset=utf-8"],
  [".txt", "text/plain; charset=utf-8"],
  [".md", "text/plain; charset=utf-8"],
];

/** Browsers refuse module scripts and streaming compilation of WebAssembly under any other type than these. */
export function contentTypeOf(path: string): string {
  return TYPES.find(([suffix]) => path.endsWith(suffix))?.[1] ?? "application/octet-stream";
}
