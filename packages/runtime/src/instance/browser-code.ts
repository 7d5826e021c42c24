import type { CodePlatform } from "@naiad/backend-javascript";
import { MARKER_HEADER } from "../marker-header.ts";

/** How a worker of a browser runs the modules of a model. */
export function browserCode(scope: DedicatedWorkerGlobalScope): CodePlatform {
  return {
    // A bundler must leave it as it is.
    importModule: (url) => import(/* @vite-ignore */ url) as Promise<Readonly<Record<string, unknown>>>,
    makeModuleUrl: (source, type) => URL.createObjectURL(new Blob([source], { type })),
    async isServed(url) {
      try {
        // A worker outside of the service worker's reach hears from the network, which often answers with a page.
        const response = await fetch(url, { method: "HEAD" });
        return response.ok && response.headers.has(MARKER_HEADER[0]);
      } catch {
        return false;
      }
    },
    placeOf(thrown) {
      let heard: ErrorEvent | undefined;
      const hear = (event: ErrorEvent): void => {
        event.preventDefault();
        event.stopImmediatePropagation();
        heard = event;
      };
      // Engines keep the place of a syntax error for the console; only the event of a report shows it to a script.
      scope.addEventListener("error", hear, { capture: true });
      scope.reportError(thrown);
      scope.removeEventListener("error", hear, { capture: true });
      return heard && { url: heard.filename, line: heard.lineno, column: heard.colno };
    },
  };
}
