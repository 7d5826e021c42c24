import { installGateway } from "naiad/gateway";

/**
 * The playground's own service worker: Naiad's gateway as a library, and beside it the shell of the app kept for offline.
 * Files with a hash in their name never change; everything else of the shell is taken from the net while there is one.
 */
declare const self: ServiceWorkerGlobalScope;
/** Paths of the built shell, relative to the scope; set by the build. */
declare const __SHELL__: readonly string[];
/** Changes with every build. */
declare const __SHELL_VERSION__: string;

const CACHE = `shell ${__SHELL_VERSION__}`;
const scope = new URL("./", self.location.href);

installGateway(self, { base: scope.pathname });

self.addEventListener("install", (event) => {
  event.waitUntil(keepShell());
});

self.addEventListener("activate", (event) => {
  event.waitUntil(dropOldShells());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !belongsToShell(new URL(request.url))) return;
  event.respondWith(fromShell(request));
});

async function keepShell(): Promise<void> {
  const cache = await caches.open(CACHE);
  await cache.addAll(__SHELL__.map((path) => new Request(new URL(path, scope), { cache: "reload" })));
}

async function dropOldShells(): Promise<void> {
  const old = (await caches.keys()).filter((name) => name.startsWith("shell ") && name !== CACHE);
  await Promise.all(old.map((name) => caches.delete(name)));
}

/** The page itself and what it consists of; the engine's files join it when they are first used. Models are Naiad's. */
function belongsToShell(url: URL): boolean {
  if (url.origin !== scope.origin || !url.pathname.startsWith(scope.pathname)) return false;
  const path = url.pathname.slice(scope.pathname.length);
  return path === "" || path === "index.html" || path.startsWith("assets/") || path.startsWith("naiad/");
}

async function fromShell(request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  const key = request.mode === "navigate" ? new Request(scope) : request;
  const kept = await cache.match(key, { ignoreVary: true });
  if (kept !== undefined) return kept;
  const response = await fetch(request);
  if (response.status === 200) {
    const copy = response.clone();
    await cache.put(key, copy).catch(() => undefined);
  }
  return response;
}
