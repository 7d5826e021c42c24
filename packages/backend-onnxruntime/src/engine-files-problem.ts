import type { EngineBuild } from "./engine.ts";
import type { EngineSettings } from "./environment.ts";
import { engineFiles } from "./environment.ts";

/** How much of `fetch` is needed here. */
export type FetchHead = (url: string, init: { readonly method: "HEAD" }) => Promise<Response>;

/**
 * Why the engine's files cannot be had, or `undefined` where they can. The engine itself compiles whatever a server
 * answers, and then complains of its content.
 */
export async function engineFilesProblem(
  build: EngineBuild,
  { ortUrl }: Pick<EngineSettings, "ortUrl">,
  fetchHead: FetchHead = (url, init) => fetch(url, init),
): Promise<string | undefined> {
  // Without a server there is nobody to answer with something else.
  if (!/^https?:/.test(ortUrl)) return undefined;
  const { mjs, wasm } = engineFiles(build);
  for (const url of [ortUrl + mjs, ortUrl + wasm]) {
    const problem = await fileProblem(url, fetchHead);
    if (problem !== undefined) return `${url}: ${problem}`;
  }
  return undefined;
}

async function fileProblem(url: string, fetchHead: FetchHead): Promise<string | undefined> {
  let response: Response;
  try {
    response = await fetchHead(url, { method: "HEAD" });
  } catch (thrown) {
    return `cannot be fetched (${String(thrown)})`;
  }
  if (!response.ok) return `HTTP status ${response.status}`;
  const isHtml = response.headers.get("content-type")?.includes("html") === true;
  return isHtml ? "the server answered with an HTML page instead of the file" : undefined;
}
