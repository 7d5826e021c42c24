import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  TEST_CERTIFICATE,
  TEST_KEY,
} from "../../../packages/naiad/src/command/serve/listen/test-certificate.ts";
import { naiadServe } from "./naiad-serve.ts";
import type { PythonCalls } from "./python-calls.ts";
import { runPythonCalls } from "./python-calls.ts";

export interface SecureCalls {
  readonly root: string;
  readonly scratch: string;
  readonly models: string;
  readonly call: Omit<PythonCalls, "args">;
}

/** A server with everything that keeps clients out. */
export async function runSecureCalls({ call, models, root, scratch }: SecureCalls): Promise<void> {
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
    "--http-restricted-api=model-repository:admin-key=secret",
    "--grpc-restricted-protocol=model-repository:admin-key=secret",
    "--grpc-infer-response-compression-level=high",
  ]);
  try {
    await runPythonCalls({ ...call, args: [http, grpc, certificate] });
  } finally {
    await service.stop();
  }
}
