/** What Triton puts before most errors about one request: `[request id: 7] `. */
export function requestPrefix(id: string): string {
  return `[request id: ${id === "" ? "<id_unknown>" : id}] `;
}
