/**
 * Stands on every answer of a gateway: by it a page tells the server from the network, which may answer the first fetches
 * after a service worker took control (WebKit does), with an HTML page and status 200 on many static hosts.
 */
export const MARKER_HEADER: readonly [name: string, value: string] = ["x-naiad", "1"];
