import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";
import type { ValidatorSettings } from "dockerfile-utils";
import { validate, ValidationSeverity } from "dockerfile-utils";
import { format } from "prettier";
import { describe, expect, it } from "vitest";
import type { MetricFamily } from "../packages/core/src/metrics/metric-family.ts";
import { collectMetrics } from "../packages/core/src/metrics/collect-metrics.ts";
import { FLAG_GROUPS } from "../packages/naiad/src/command/serve/options/flags.ts";
import type { ServeOptions } from "../packages/naiad/src/command/serve/options/serve-options.ts";
import { readServeOptions } from "../packages/naiad/src/command/serve/options/serve-options.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const read = (file: string): string => readFileSync(join(ROOT, "docs/deploy", file), "utf8");

const DOCKERFILE = read("Dockerfile");
const KUBERNETES = read("kubernetes.yaml");
const ADAPTER = read("prometheus-adapter-values.yaml");
const GUIDE = read("README.md");
const DASHBOARD = JSON.parse(read("grafana-dashboard.json")) as Dashboard;

interface Dashboard {
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
  readonly panels: readonly Panel[];
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Readonly<Record<"x" | "y" | "w" | "h", number>>;
  readonly targets?: readonly { readonly expr: string }[];
}

/** By name: everything that a server can tell, whether or not it has a cache or a GPU. */
const FAMILIES: ReadonlyMap<string, MetricFamily> = new Map(
  collectMetrics({
    versions: [],
    latencyCounters: "told",
    responseCache: {
      entries: 0,
      usedBytes: 0,
      byteSize: 0,
      lookups: 0,
      hits: 0,
      misses: 0,
      evictions: 0,
      lookupNs: 0,
      insertionNs: 0,
    },
    requestBytes: { inflightBytes: 0, maxInflightBytes: 0 },
    place: { workers: [], workerStarts: { cpu: 0, gpu: 0, javascript: 0 } },
    machine: {},
  }).map((family) => [family.name, family]),
);

const metricsIn = (text: string): readonly string[] => text.match(/\b(?:nv|naiad)_[a-z0-9_]+/g) ?? [];

/** Everything that Docker's parser would only pass over is an error too. */
const STRICT: ValidatorSettings = {
  deprecatedMaintainer: ValidationSeverity.ERROR,
  directiveCasing: ValidationSeverity.ERROR,
  emptyContinuationLine: ValidationSeverity.ERROR,
  instructionCasing: ValidationSeverity.ERROR,
  instructionCmdMultiple: ValidationSeverity.ERROR,
  instructionEntrypointMultiple: ValidationSeverity.ERROR,
  instructionHealthcheckMultiple: ValidationSeverity.ERROR,
  instructionJSONInSingleQuotes: ValidationSeverity.ERROR,
  instructionWorkdirRelative: ValidationSeverity.ERROR,
};

const problemsOf = (dockerfile: string): readonly unknown[] =>
  validate(dockerfile, STRICT).map(({ message, range }) => [range.start.line + 1, message]);

/** Instructions with their continued lines joined, comments left out. */
const INSTRUCTIONS: readonly { readonly name: string; readonly rest: string }[] = DOCKERFILE.replace(
  /^#.*\n/gm,
  "",
)
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => {
    const [name = "", ...rest] = line.split(" ");
    return { name, rest: rest.join(" ") };
  });

const instruction = (wanted: string): readonly string[] =>
  INSTRUCTIONS.filter(({ name }) => name === wanted).map(({ rest }) => rest);

const words = (json: string): readonly string[] => JSON.parse(json) as readonly string[];

/** As `naiad serve` reads them, which refuses what it does not know. */
function serveOptions([command, ...options]: readonly string[]): ServeOptions {
  expect(command).toBe("serve");
  const read = readServeOptions(options);
  if (read === "help") throw new Error("help was not asked for");
  expect(read.warnings).toEqual([]);
  return read;
}

function kubernetesArguments(): readonly string[] {
  const [, , list = ""] = /^( *)args:\n((?:\1 +- .*\n)+)/m.exec(KUBERNETES) ?? [];
  return [...list.matchAll(/- (.*)\n/g)].map(([, word = ""]) => word);
}

describe("the Dockerfile", () => {
  it("is one that a linter finds nothing in", () => {
    expect(problemsOf(DOCKERFILE)).toEqual([]);
  });

  it.each([
    ["ENTRYPOINT [", "ENTRYPOINTS ["],
    ["EXPOSE 8000", "EXPOSE http"],
    ["--interval=10s", "--interval=10"],
    ["WORKDIR /opt/naiad", "WORKDIR opt/naiad"],
    ["USER 1000:1000", "USER"],
  ])("would not be with %s written as %s", (right, wrong) => {
    expect(DOCKERFILE).toContain(right);
    expect(problemsOf(DOCKERFILE.replace(right, wrong))).toHaveLength(1);
  });

  it("builds from images of an exact version, the same one for both stages", () => {
    const images = instruction("FROM").map((rest) => rest.split(" ")[0]);
    expect(images).toHaveLength(2);
    expect(new Set(images).size).toBe(1);
    expect(images[0]).toMatch(/^node:\d+\.\d+\.\d+-[a-z]+-slim$/);
  });

  it("runs as a user whose number says that it is not root", () => {
    const lastUser = instruction("USER").at(-1);
    expect(lastUser).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const order = INSTRUCTIONS.map(({ name }) => name);
    expect(order.lastIndexOf("USER")).toBeGreaterThan(order.lastIndexOf("RUN"));
  });

  it("asks for readiness in a health check whose program can be read", () => {
    const [check = ""] = instruction("HEALTHCHECK");
    const [, json = ""] = /CMD (\[.*\])$/.exec(check) ?? [];
    const [program, flag, code = ""] = words(json);
    expect([program, flag]).toEqual(["node", "-e"]);
    expect(code).toContain("http://127.0.0.1:8000/v2/health/ready");
    expect(() => new Script(code)).not.toThrow();
  });

  it("installs Chromium and the Vulkan loader and keeps no package lists", () => {
    const [install = ""] = instruction("RUN").filter((rest) => rest.includes("apt-get"));
    const packages = / install --yes --no-install-recommends ([^&]*?) *&&/.exec(install)?.[1]?.split(" ");
    expect(packages).toEqual(expect.arrayContaining(["chromium", "libvulkan1"]));
    expect(install).toMatch(/^apt-get update && /);
    expect(install).toMatch(/ rm -rf \/var\/lib\/apt\/lists\/\*$/);
  });

  it("uses the pnpm of the workspace", () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
      readonly packageManager: string;
    };
    expect(DOCKERFILE.match(/pnpm@[\d.]+/g)).toEqual([manifest.packageManager]);
  });

  it("serves to everybody on the ports that it exposes, in the browser's sandbox", () => {
    const [entry = ""] = instruction("ENTRYPOINT");
    expect(words(entry).slice(0, 2)).toEqual(["tini", "--"]);
    const [command = ""] = instruction("CMD");
    const { browser, listeners } = serveOptions(words(command));
    expect(browser.sandbox).toBe("on");
    expect(listeners.map(({ address }) => address)).toEqual(["0.0.0.0", "0.0.0.0", "0.0.0.0"]);
    expect(instruction("EXPOSE")).toEqual([listeners.map(({ port }) => port).join(" ")]);
  });
});

describe("the Kubernetes example", () => {
  it.each([
    ["kubernetes.yaml", KUBERNETES],
    ["prometheus-adapter-values.yaml", ADAPTER],
  ])("is YAML: %s", async (_name, text) => {
    await expect(format(text, { parser: "yaml" })).resolves.toContain(":");
  });

  it("serves on the ports that it names, in the browser's sandbox, and ends before it is killed", () => {
    const { browser, exitTimeoutSecs, listeners } = serveOptions(kubernetesArguments());
    expect(browser.sandbox).toBe("on");
    const named = [...KUBERNETES.matchAll(/containerPort: (\d+)/g)].map(([, port]) => Number(port));
    expect(listeners.map(({ port }) => port)).toEqual(named);
    expect(KUBERNETES).toContain(`prometheus.io/port: "${String(named[2])}"`);
    const [, grace] = /terminationGracePeriodSeconds: (\d+)/.exec(KUBERNETES) ?? [];
    const [, pause] = /command: \[sleep, "(\d+)"\]/.exec(KUBERNETES) ?? [];
    expect(Number(grace)).toBeGreaterThan(exitTimeoutSecs + Number(pause));
  });

  it("runs as the user of the image, without privileges", () => {
    const [, user] = /runAsUser: (\d+)/.exec(KUBERNETES) ?? [];
    const [, group] = /runAsGroup: (\d+)/.exec(KUBERNETES) ?? [];
    expect(instruction("USER").at(-1)).toBe(`${String(user)}:${String(group)}`);
    for (const line of [
      "runAsNonRoot: true",
      "allowPrivilegeEscalation: false",
      "readOnlyRootFilesystem: true",
    ]) {
      expect(KUBERNETES).toContain(line);
    }
  });

  it("scales by a gauge of the server that the adapter hands on", () => {
    const scaled = metricsIn(KUBERNETES);
    expect(scaled).toEqual(["nv_inference_pending_request_count"]);
    expect(new Set(metricsIn(ADAPTER))).toEqual(new Set(scaled));
    for (const name of scaled) expect(FAMILIES.get(name)?.kind).toBe("gauge");
  });
});

describe("the dashboard", () => {
  const queries = DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const definitions = DASHBOARD.templating.list.flatMap(({ definition = [] }) => definition);

  it("asks only for metrics that a server has", () => {
    const names = new Set([...queries, ...definitions].flatMap(metricsIn));
    expect(names.size).toBeGreaterThan(15);
    expect([...names].filter((name) => !FAMILIES.has(name))).toEqual([]);
  });

  it("takes rates of counters, and of counters alone", () => {
    for (const query of queries) {
      const inRates = new Set(
        [...query.matchAll(/(?:rate|increase)\((\w+)/g)].flatMap(([, name = ""]) => name),
      );
      for (const name of metricsIn(query)) {
        expect([name, FAMILIES.get(name)?.kind === "counter"]).toEqual([name, inRates.has(name)]);
      }
    }
  });

  it("knows every variable that its queries use", () => {
    const known = new Set(["__rate_interval", ...DASHBOARD.templating.list.map(({ name }) => name)]);
    const used = [...queries, ...definitions].flatMap((text) => text.match(/(?<=\$)\w+/g) ?? []);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
  });

  it("has a query in every panel, and no panel upon another", () => {
    const { panels } = DASHBOARD;
    const empty = panels.filter(({ type, targets = [] }) => type !== "row" && targets.length === 0);
    expect(empty).toEqual([]);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from(
        { length: w * h },
        (_, cell) => `${String(x + (cell % w))},${String(y + Math.floor(cell / w))}`,
      ),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });
});

describe("the guide to deployment", () => {
  it("names only options of naiad serve, and those of docker that it is about", () => {
    const known = new Set(FLAG_GROUPS.flatMap(({ flags }) => Object.keys(flags)));
    const docker = ["cap-add", "device", "gpus", "group-add", "privileged", "security-opt"];
    const named = GUIDE.match(/(?<=`--)[a-z-]+/g) ?? [];
    expect(named).toContain("no-sandbox");
    expect(named.filter((name) => !known.has(name) && !docker.includes(name))).toEqual([]);
  });
});
