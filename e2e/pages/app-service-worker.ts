import { installGateway } from "naiad/gateway";

/**
 * The service worker of an app that has its own: Naiad's gateway first, then a handler that takes every request, as that
 * of many apps does, and messages of its own.
 */
declare const self: Parameters<typeof installGateway>[0];

const seen: string[] = [];

installGateway(self);

self.addEventListener("fetch", (event) => {
  event.respondWith(answer(event.request));
});

self.addEventListener("message", (event) => {
  if (event.data === "what did you see?") event.ports[0]?.postMessage(seen);
});

async function answer(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  seen.push(pathname);
  return pathname === "/app-greeting" ? new Response("hello from the app") : await fetch(request);
}
