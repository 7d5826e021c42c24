import { DEFAULT_TRACE_CONFIG } from "@naiad/protocol";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../../command-io.ts";
import { FLAG_GROUPS } from "./flags.ts";
import { serveHelp } from "./help.ts";
import type { ServeOptions } from "./serve-options.ts";
import { readServeOptions } from "./serve-options.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "naiad-options-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

function read(...argv: string[]): ServeOptions {
  const options = readServeOptions(["--model-repository", "m", ...argv]);
  if (options === "help") throw new Error("help was not asked for");
  return options;
}

describe("the options of naiad serve", () => {
  it("serve from a browser unless told otherwise, and take nothing for one where there is none", () => {
    expect(read("--runtime=node")).toMatchObject({ runtime: "node", hangSecs: 30 });
    expect(read("--runtime=node", "--browser-hang-secs=7", "--gpu-fallback=error").hangSecs).toBe(7);
    for (const flag of ["--browser=/b", "--browser-argument=--x", "--gpu=off", "--no-sandbox"]) {
      expect(() => read("--runtime=node", flag)).toThrow("is for --runtime browser");
    }
    expect(() => read("--runtime=deno")).toThrow("--runtime");
  });

  it("are tritonserver's by default, on the loopback interface", () => {
    expect(read()).toEqual({
      repositories: ["m"],
      server: {
        modelControlMode: "none",
        loadModels: [],
        httpRestrictedApi: [],
        grpcRestrictedProtocol: [],
        metricsConfig: [],
        rateLimitResources: [],
        allowSoftwareGpu: false,
      },
      cors: { allowOrigins: [] },
      listeners: [
        { protocol: "http", address: "127.0.0.1", port: 8000, tls: undefined },
        {
          protocol: "grpc",
          address: "127.0.0.1",
          port: 8001,
          tls: undefined,
          sessions: {
            pingAfterMs: 7_200_000,
            pingTimeoutMs: 20_000,
            pinged: "in use",
            maxAgeMs: undefined,
            maxAgeGraceMs: undefined,
          },
        },
        { protocol: "metrics", address: "127.0.0.1", port: 8002, tls: undefined },
      ],
      accessLog: undefined,
      log: { verbose: 0, info: true, warning: true, error: true, format: "default", file: undefined },
      trace: { ...DEFAULT_TRACE_CONFIG, destination: "file" },
      machine: { cpu: "told", gpu: "told", intervalMs: 2000 },
      runtime: "browser",
      browser: { path: undefined, gpu: "auto", sandbox: "on", arguments: [] },
      hangSecs: 30,
      exitTimeoutSecs: 30,
      warnings: [],
    });
  });

  it("take a command line of tritonserver's", () => {
    const { server, listeners, trace, repositories, warnings } = read(
      ...["--model-store=n", "--model-control-mode=explicit", "--load-model=a", "--load-model", "b"],
      ...["--strict-readiness=false", "--exit-on-error", "FALSE", "--disable-auto-complete-config"],
      ...["--http-port=0", "--allow-metrics", "0", "--id=x", "--log-verbose=1", "--exit-timeout-secs=5"],
      ...["--rate-limit=execution_count", "--rate-limit-resource=R1:10:0", "--rate-limit-resource=R2:4"],
      ...["--cache-config", "local,size=1000", "--backend-config=onnxruntime,default-max-batch-size=8"],
      ...[
        "--trace-config",
        "triton,level=TIMESTAMPS",
        "--trace-config",
        "rate=10",
        "--trace-config=mode=triton",
      ],
      ...["--http-restricted-api=health:k=v", "--metrics-config", "summary_latencies=true"],
      ...["--pinned-memory-pool-byte-size=1", "--http-thread-count", "4", "--allow-sagemaker=false"],
      ...["--allow-grpc=false", "--grpc-restricted-protocol=inference:k=v"],
      ...["--grpc-infer-response-compression-level=low", "--grpc-header-forward-pattern=^x-"],
      ...["--model-namespacing=false", "--strict-model-config=true"],
    );
    expect(repositories).toEqual(["m", "n"]);
    expect(listeners).toEqual([{ protocol: "http", address: "127.0.0.1", port: 0, tls: undefined }]);
    expect(server).toEqual({
      modelControlMode: "explicit",
      loadModels: ["a", "b"],
      strictReadiness: false,
      exitOnError: false,
      disableAutoCompleteConfig: true,
      strictModelConfig: true,
      id: "x",
      logVerbose: 1,
      exitTimeoutSecs: 5,
      rateLimit: "execution_count",
      rateLimitResources: [
        { name: "R1", count: 10, device: 0 },
        { name: "R2", count: 4 },
      ],
      cacheConfig: ["local,size=1000"],
      defaultMaxBatchSize: 8,
      httpRestrictedApi: ["health:k=v"],
      grpcRestrictedProtocol: ["inference:k=v"],
      grpcHeaderForwardPattern: "^x-",
      grpcInferResponseCompressionLevel: "low",
      metricsConfig: ["summary_latencies=true"],
      allowMetrics: false,
      allowSoftwareGpu: false,
    });
    expect(trace).toMatchObject({ mode: "triton", level: ["TIMESTAMPS"], rate: 10 });
    expect(warnings).toEqual([
      "--pinned-memory-pool-byte-size does nothing in a browser",
      "--http-thread-count does nothing in a browser",
      "--strict-model-config is deprecated; say it with --disable-auto-complete-config",
      "nothing is traced: there is a trace level, but no file, --trace-config triton,file=<path>",
    ]);
  });

  it("pass addresses on to the services that have none of their own", () => {
    const addresses = (...argv: string[]) => read(...argv).listeners.map(({ address }) => address);
    expect(addresses("--host", "0.0.0.0")).toEqual(["0.0.0.0", "0.0.0.0", "0.0.0.0"]);
    expect(addresses("--http-address", "::1")).toEqual(["::1", "127.0.0.1", "::1"]);
    expect(addresses("--host=a", "--metrics-address=b", "--grpc-address=c")).toEqual(["a", "c", "b"]);
  });

  it("say what the metrics tell of the machine, and how often", () => {
    expect(read().machine).toEqual({ cpu: "told", gpu: "told", intervalMs: 2000 });
    expect(
      read("--allow-cpu-metrics=false", "--allow-gpu-metrics=0", "--metrics-interval-ms=1").machine,
    ).toEqual({ cpu: "left out", gpu: "left out", intervalMs: 100 });
    expect(read("--allow-metrics=false").machine).toBeUndefined();
  });

  it("name origins, certificates and the browser", () => {
    const { browser, cors, listeners, server } = read(
      ...["--http-cors-allow-origin=https://a.test", "--http-cors-allow-origin", "https://b.test"],
      ...["--http-use-ssl", "--http-server-cert=c", "--http-server-key=k", "--http-use-ssl-mutual=1"],
      ...["--http-root-cert=r", "--no-sandbox", "--gpu=software", "--browser=/b", "--browser-argument=--x=1"],
    );
    expect(cors).toEqual({ allowOrigins: ["https://a.test", "https://b.test"] });
    expect(listeners[0]?.tls).toEqual({ certificate: "c", key: "k", clientRoots: "r" });
    expect(listeners[1]?.tls).toBeUndefined();
    const [grpc] = read(
      ...["--allow-http=false", "--grpc-use-ssl-mutual", "--grpc-server-cert=c", "--grpc-server-key=k"],
      ...["--grpc-root-cert=r", "--grpc-port=1", "--grpc-keepalive-time=1000", "--grpc-keepalive-timeout=5"],
      ...["--grpc-keepalive-permit-without-calls=1", "--grpc-max-connection-age=7"],
      "--grpc-max-connection-age-grace=8",
    ).listeners;
    expect(grpc).toEqual({
      protocol: "grpc",
      address: "127.0.0.1",
      port: 1,
      tls: { certificate: "c", key: "k", clientRoots: "r" },
      sessions: { pingAfterMs: 1000, pingTimeoutMs: 5, pinged: "all", maxAgeMs: 7, maxAgeGraceMs: 8 },
    });
    expect(browser).toEqual({
      path: "/b",
      gpu: "software",
      sandbox: "off",
      arguments: ["--x=1"],
    });
    expect(server.allowSoftwareGpu).toBe(true);
    expect(read("--http-cors-allow-origin=*").cors).toEqual({ allowOrigins: "*" });
  });

  it("come from a file too, and the command line wins", async () => {
    const file = join(folder, "naiad.json");
    await writeFile(
      file,
      JSON.stringify({
        "model-repository": ["a", "b"],
        "http-port": 1,
        "metrics-port": 2,
        "exit-on-error": false,
        "metrics-interval-ms": 500,
        "http-thread-count": 5,
      }),
    );
    const options = readServeOptions(["--config", file, "--http-port=3"]);
    expect(options).toMatchObject({
      repositories: ["a", "b"],
      listeners: [{ port: 3 }, { port: 8001 }, { port: 2 }],
      server: { exitOnError: false },
      machine: { intervalMs: 500 },
      warnings: ["--http-thread-count does nothing in a browser"],
    });
    await writeFile(file, '{"http-prot": 1}');
    expect(() => readServeOptions(["--config", file])).toThrow("did you mean '--http-port'?");
    await writeFile(file, '{"http-port": {}}');
    expect(() => readServeOptions(["--config", file])).toThrow(
      `--config '${file}': there is no option in 'http-port'`,
    );
    await writeFile(file, "[]");
    expect(() => readServeOptions(["--config", file])).toThrow("must hold an object of options");
    await writeFile(file, "{");
    expect(() => readServeOptions(["--config", file])).toThrow(`--config '${file}': `);
    await writeFile(file, '{"--model-repository": "a"}');
    expect(readServeOptions(["--config", file])).toMatchObject({ repositories: ["a"] });
  });

  it.each([
    [["--http-prot=1"], "unknown option '--http-prot'; did you mean '--http-port'?"],
    [["--http-prot", "1"], "unknown option '--http-prot'; did you mean '--http-port'?"],
    [["--xyzzy"], "unknown option '--xyzzy'"],
    [["models"], "'models' is no option; models are named with --model-repository"],
    [["--http-port=70000"], "--http-port must be a port, but it is '70000'"],
    [["--log-verbose=a"], "--log-verbose must be a whole number, but it is 'a'"],
    [["--strict-readiness=maybe"], "--strict-readiness: invalid value for bool option: maybe"],
    [
      ["--model-control-mode=all"],
      "--model-control-mode must be one of none, poll, explicit, but it is 'all'",
    ],
    [["--id"], "--id needs a value"],
    [["--load-model=a"], "Use of '--load-model' requires setting '--model-control-mode=explicit' as well."],
    [["--allow-http=false", "--allow-grpc=false", "--allow-metrics=false"], "there is nothing to serve"],
    [["--grpc-use-ssl-mutual=true"], "--grpc-use-ssl needs --grpc-server-cert"],
    [["--allow-vertex-ai=true"], "--allow-vertex-ai: Vertex AI's endpoint is not served"],
    [["--model-namespacing=true"], "--model-namespacing can only be false"],
    [["--http-use-ssl=true"], "--http-use-ssl needs --http-server-cert"],
    [["--rate-limit-resource=R"], "--rate-limit-resource must be NAME:COUNT[:DEVICE], but it is 'R'"],
    [
      ["--model-control-mode=explicit", "--load-model=*", "--load-model=a"],
      "Wildcard model name '*' must be the ONLY startup model if specified at all.",
    ],
    // Of a variable of the shell that is not set; an empty address would be every address.
    [["--host="], "--host needs a value"],
    [["--metrics-address="], "--metrics-address needs a value"],
    [["-v"], "unknown option '-v'"],
    [["--backend-config=y"], "--backend-config must be [BACKEND,]NAME=VALUE, but it is 'y'"],
    [["--toString"], "unknown option '--toString'"],
  ])("refuse %j", (argv, message) => {
    expect(() => read(...argv)).toThrow(UsageError);
    expect(() => read(...argv)).toThrow(message);
  });

  it("are read as tritonserver reads them", () => {
    expect(read("--model-control-mode=EXPLICIT").server.modelControlMode).toBe("explicit");
    expect(read("--rate-limit=Execution_Count").server.rateLimit).toBe("execution_count");
    expect(read("--log-verbose=true").log.verbose).toBe(1);
    expect(read("--log-verbose", "false").log.verbose).toBe(0);
    expect(read("--log-file=").log.file).toBeUndefined();
    expect(read("--backend-config=python,a=b").warnings).toHaveLength(1);
  });

  it("need a repository", () => {
    expect(() => readServeOptions([])).toThrow("--model-repository must be specified");
    expect(readServeOptions(["-h"])).toBe("help");
  });
});

describe("the help", () => {
  it("has every option, in lines that fit a terminal", () => {
    const help = serveHelp();
    for (const { flags, title } of FLAG_GROUPS) {
      expect(help).toContain(`${title}:`);
      for (const name of Object.keys(flags)) expect(help).toContain(`  --${name}`);
    }
    expect(Math.max(...help.split("\n").map((line) => line.length))).toBeLessThanOrEqual(120);
  });
});
