import { installGateway } from "./gateway.ts";

// Naiad's own service worker, built as one classic script. An application that has its own calls `installGateway` in it.
declare const self: ServiceWorkerGlobalScope;

installGateway(self);
