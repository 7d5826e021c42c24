import type { Pong } from "@naiad/runtime/contracts";
import { WIRE_VERSION } from "@naiad/runtime/contracts";
import { afterEach, describe, expect, it, vi } from "vitest";
import { registerGateway } from "./gateway-registration.ts";
import { askWireVersion } from "./gateway-version.ts";

const BASE = "/app/";

/** A service worker whose gateways speak these wire versions, by base. */
class FakeWorker extends EventTarget {
  state: ServiceWorkerState;
  readonly #versions: Readonly<Record<string, number>>;

  constructor(state: ServiceWorkerState, versions: Readonly<Record<string, number>>) {
    super();
    this.state = state;
    this.#versions = versions;
  }

  postMessage(_ping: unknown, ports: unknown): void {
    const [port] = ports as readonly MessagePort[];
    for (const [base, wireVersion] of Object.entries(this.#versions)) {
      const pong: Pong = { naiad: "pong", wireVersion, base, gatewayId: "g" };
      port?.postMessage(pong);
    }
  }

  become(state: ServiceWorkerState): void {
    this.state = state;
    this.dispatchEvent(new Event("statechange"));
  }
}

interface FakeRegistration {
  active: FakeWorker | null;
  waiting: FakeWorker | null;
  installing: FakeWorker | null;
  update(): Promise<void>;
}

function registrationOf(active: FakeWorker, update: (found: FakeRegistration) => void): FakeRegistration {
  const found: FakeRegistration = {
    active,
    waiting: null,
    installing: null,
    update: () => Promise.resolve(found).then(update),
  };
  return found;
}

async function register(found: FakeRegistration): Promise<ServiceWorker | undefined> {
  const container = { register: () => Promise.resolve(found) };
  const registered = await registerGateway(
    // Only what is registered is looked at.
    container as unknown as ServiceWorkerContainer,
    "/app/naiad-sw.js",
    BASE,
    AbortSignal.timeout(10_000),
  );
  return registered.active();
}

const NO_UPDATE = (): void => undefined;

afterEach(() => {
  vi.useRealTimers();
});

describe("registerGateway", () => {
  it("takes a service worker of its own wire version, whatever other bases speak", async () => {
    const worker = new FakeWorker("activated", { "/": 99, [BASE]: WIRE_VERSION });
    expect(await register(registrationOf(worker, NO_UPDATE))).toBe(worker);
  });

  it("waits until it is active", async () => {
    const worker = new FakeWorker("activating", { [BASE]: WIRE_VERSION });
    const registered = register(registrationOf(worker, NO_UPDATE));
    await Promise.resolve();
    worker.become("activated");
    expect(await registered).toBe(worker);
  });

  it("gives an old one up for the one that the server has now", async () => {
    const next = new FakeWorker("installing", { [BASE]: WIRE_VERSION });
    const found = registrationOf(new FakeWorker("activated", { [BASE]: 99 }), () => {
      found.installing = next;
      setTimeout(() => {
        Object.assign(found, { installing: null, waiting: next });
        next.become("installed");
        Object.assign(found, { waiting: null, active: next });
        next.become("activating");
        setTimeout(() => {
          next.become("activated");
        }, 0);
      }, 0);
    });
    expect(await register(found)).toBe(next);
  });

  it("names both versions where the server has no other", async () => {
    const found = registrationOf(new FakeWorker("activated", { [BASE]: 99 }), NO_UPDATE);
    await expect(register(found)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        `the service worker speaks wire version 99 of Naiad and this page ${WIRE_VERSION}: ` +
        "close the other tabs of this site and reload",
    });
  });

  it("says soon, and what to do, that an application has registered none of its own", async () => {
    const container = { getRegistration: () => Promise.resolve(undefined) };
    const startedAt = performance.now();
    const registered = registerGateway(
      container as unknown as ServiceWorkerContainer,
      false,
      BASE,
      AbortSignal.timeout(10_000),
    );
    await expect(registered).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message:
        "no service worker is registered for '/app/': with serviceWorker false the application registers its own " +
        "before it calls startServer; leave the option out for Naiad's, or use mode 'direct' for none",
    });
    expect(performance.now() - startedAt).toBeLessThan(4_000);
  });

  it("does not wait for ever for a script that does not load, unless one is there from before", async () => {
    vi.useFakeTimers();
    const worker = new FakeWorker("activated", { [BASE]: WIRE_VERSION });
    const { signal } = new AbortController();
    const registering = (existing: FakeRegistration | undefined) => {
      const container = {
        register: () => new Promise(() => undefined),
        getRegistration: () => Promise.resolve(existing),
      };
      return registerGateway(
        container as unknown as ServiceWorkerContainer,
        "/app/naiad-sw.js",
        BASE,
        signal,
      );
    };
    const refused = expect(registering(undefined)).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "cannot register the service worker '/app/naiad-sw.js': its script did not load within 30 s",
    });
    const taken = registering(registrationOf(worker, NO_UPDATE));
    await vi.advanceTimersByTimeAsync(30_000);
    await refused;
    expect((await taken).active()).toBe(worker);
  });

  it("takes one that the application is just registering", async () => {
    const worker = new FakeWorker("activated", { [BASE]: WIRE_VERSION });
    let asked = 0;
    const container = {
      getRegistration: () => {
        asked += 1;
        return Promise.resolve(asked < 3 ? undefined : registrationOf(worker, NO_UPDATE));
      },
    };
    const registered = await registerGateway(
      container as unknown as ServiceWorkerContainer,
      false,
      BASE,
      AbortSignal.timeout(10_000),
    );
    expect(registered.active()).toBe(worker);
    expect(registered.wasActive).toBe(true);
  });

  it("does so too where the new one cannot be installed, or the network is gone", async () => {
    const broken = registrationOf(new FakeWorker("activated", { [BASE]: 99 }), (found) => {
      const next = new FakeWorker("installing", {});
      found.installing = next;
      setTimeout(() => {
        found.installing = null;
        next.become("redundant");
      }, 0);
    });
    await expect(register(broken)).rejects.toThrow("wire version 99");
    const offline = registrationOf(new FakeWorker("activated", { [BASE]: 99 }), () => {
      throw new TypeError("failed to fetch");
    });
    await expect(register(offline)).rejects.toThrow("wire version 99");
  });

  it("does not wait for an answer longer than its caller", async () => {
    const silent = new FakeWorker("activated", {});
    const leaving = new AbortController();
    const asked = askWireVersion(silent, BASE, leaving.signal);
    leaving.abort();
    expect(await asked).toBeUndefined();
  });
});
