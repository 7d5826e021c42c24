import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  TEST_CERTIFICATE,
  TEST_KEY,
} from "../../../packages/naiad/src/command/serve/listen/test-certificate.ts";
import { naiadServe } from "./naiad-serve.ts";
import { runPythonCalls } from "./python-calls.ts";
import type { Tally } from "./tally.ts";

export interface SecureCalls {
  readonly root: string;
  readonly scratch: string;
  readonly models: string;
  readonly pythons: readonly string[];
  readonly scripts: string;
  readonly tally: Tally;
}

/** A server with everything that keeps clients out. */
export async function runSecureCalls(calls: SecureCalls): Promise<void> {
  const { models, pythons, root, scratch, scripts, tally } = calls;
  const [certificate, key] = [join(scratch, "certificate.pem"), join(scratch, "key.pem")];
  await writeFile(certificate, TEST_CERTIFICATE);
  await writeFile(key, TEST_KEY);
  const tls = ["http", "grpc"].flatMap((protocol) => [
    `--${protocol}-use-ssl`,
    `--${protocol}-server-cert=${certificate}`,
    `--${protocol}-server-key=${key}`,
  ]);
  const { grpc, http, service } = await naiadServe(root, [
    ...["--model-repository", models, "--model-control-mode=explicit", "--load-model=simple"],
    ...tls,
    "--grpc-use-ssl-mutual",
    `--grpc-root-cert=${certificate}`,
    "--http-restricted-api=model-repository:admin-key=secret",
    "--grpc-restricted-protocol=model-repository:admin-key=secret",
    "--grpc-infer-response-compression-level=high",
  ]);
  try {
    const script = join(scripts, "secure_calls.py");
    const args = [http, grpc, certificate, key];
    for (const python of pythons) await runPythonCalls({ python, script, args, tally });
  } finally {
    await service.stop();
  }
}
