/** What Triton puts before many errors about one request: `[request id: 7] `. */
export function requestIdPrefix(id: string): string {
  return `[request id: ${id === "" ? "<id_unknown>" : id}] `;
}
