import type { CDPSession, Page } from "playwright/test";
import { test as base, expect } from "playwright/test";
import type { StartServerOptions } from "naiad";
import type { Origin } from "./origin.ts";
import { serveOrigin } from "./origin.ts";
import type {} from "./pages/test-page.ts";

export { expect };
export type { Page };

export interface Fixtures {
  /** One web server per worker process. Tests that stop theirs start their own with `serveOrigin`. */
  readonly origin: Origin;
  /** An isolated page on which nothing has been started. */
  readonly blank: Page;
  /** Starts a server on a page and waits until it answers. */
  readonly start: (page: Page, options?: Partial<StartServerOptions>) => Promise<void>;
}

export interface WorkerFixtures {
  readonly sharedOrigin: Origin;
}

export const test = base.extend<Fixtures, WorkerFixtures>({
  sharedOrigin: [
    // Playwright reads the names of the fixtures needed from this pattern.
    async ({}, use) => {
      const origin = await serveOrigin();
      await use(origin);
      await origin.close();
    },
    { scope: "worker" },
  ],
  origin: async ({ sharedOrigin }, use) => {
    await use(sharedOrigin);
  },
  blank: async ({ page, origin }, use) => {
    await openPage(page, origin);
    await use(page);
  },
  start: async ({}, use) => {
    await use(startOn);
  },
});

/** Opens the test page and waits for its module. Errors of the page fail the test. */
export async function openPage(page: Page, origin: Origin): Promise<void> {
  await page.goto(origin.url);
  await page.waitForFunction(() => "test" in window);
}

export async function startOn(page: Page, options: Partial<StartServerOptions> = {}): Promise<void> {
  await page.evaluate(async (given) => {
    await window.test.start(given);
  }, options);
}

/** Kills every service worker of the browser, as Chromium does after 30 idle seconds. */
export async function killServiceWorkers(page: Page): Promise<void> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("ServiceWorker.enable");
  await session.send("ServiceWorker.stopAllWorkers");
  await session.detach();
}

export { serveOrigin };
export type { Origin };
