import { join } from "node:path";
import { naiadServe } from "./naiad-serve.ts";
import { freePorts } from "./programs.ts";
import { runPythonCalls } from "./python-calls.ts";
import type { Tally } from "./tally.ts";

export interface TraceCalls {
  readonly root: string;
  readonly models: string;
  /** With `opentelemetry-proto`. */
  readonly python: string;
  readonly scripts: string;
  readonly tally: Tally;
}

/** A server that exports spans to a collector which reads them with OpenTelemetry's own messages. */
export async function runTraceCalls({ models, python, root, scripts, tally }: TraceCalls): Promise<void> {
  const [port = 0] = await freePorts(1);
  const argv = [
    ...["--model-repository", models, "--model-control-mode=explicit", "--load-model=simple"],
    ...["--trace-config=mode=opentelemetry", "--trace-config=level=TIMESTAMPS", "--trace-config=rate=0"],
    `--trace-config=opentelemetry,url=http://127.0.0.1:${String(port)}/v1/traces`,
    "--trace-config=opentelemetry,bsp_schedule_delay=200",
    "--trace-config=opentelemetry,resource=team=vision",
  ];
  const { http, service } = await naiadServe(root, argv, {
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment=test,team=nobody",
    OTEL_EXPORTER_OTLP_HEADERS: "x-key=secret",
  });
  try {
    await runPythonCalls({
      python,
      script: join(scripts, "trace_calls.py"),
      args: [http, String(port)],
      tally,
    });
  } finally {
    await service.stop();
  }
}
