import { readFile } from "node:fs/promises";
import type { TraceSettingsUpdate } from "@naiad/protocol";
import { UsageError } from "../command-io.ts";
import { serverUrl } from "../server-options.ts";
import type { GrpcCompression } from "./grpc-messages.ts";
import { oneOf, wholeNumber } from "./option-values.ts";
import type { Values } from "./option-values.ts";
import type { TlsOptions } from "./tls-options.ts";

/** The way to a server at an address. */
export interface Connection {
  readonly kind: "http" | "grpc";
  /** With its scheme and without a slash at its end. */
  readonly url: string;
  readonly tls: TlsOptions;
  readonly headers: Readonly<Record<string, string>>;
  readonly tensorFormats: { readonly inputs: "binary" | "json"; readonly outputs: "binary" | "json" };
  readonly streaming: boolean;
  readonly compression: GrpcCompression;
}

/** Throws a `UsageError`; rejects where a file cannot be read. */
export async function connectionOf(kind: "http" | "grpc", values: Values): Promise<Connection> {
  const streaming = values.streaming === true;
  if (streaming && kind === "http") {
    throw new UsageError("--streaming: Triton's HTTP API has no streaming inference, so it needs -i grpc");
  }
  const compression =
    oneOf("grpc-compression-algorithm", values["grpc-compression-algorithm"], ["none", "gzip", "deflate"]) ??
    "none";
  if (compression !== "none" && kind === "http") {
    throw new UsageError("--grpc-compression-algorithm needs -i grpc");
  }
  return {
    kind,
    url: urlOf(kind, values),
    tls: await (kind === "grpc" ? grpcTls(values) : httpsTls(values)),
    headers: headersOf(values.header ?? []),
    tensorFormats: {
      inputs: oneOf("input-tensor-format", values["input-tensor-format"], ["binary", "json"]) ?? "binary",
      outputs: oneOf("output-tensor-format", values["output-tensor-format"], ["binary", "json"]) ?? "binary",
    },
    streaming,
    compression,
  };
}

function urlOf(kind: "http" | "grpc", values: Values): string {
  const text = values.url ?? (kind === "grpc" ? "localhost:8001" : "localhost:8000");
  const url = serverUrl(text);
  const isBare = !text.includes("://");
  return isBare && kind === "grpc" && values["ssl-grpc-use-ssl"] === true
    ? url.replace(/^http:/, "https:")
    : url;
}

async function grpcTls(values: Values): Promise<TlsOptions> {
  return {
    ...(await files({
      authorities: values["ssl-grpc-root-certifications-file"],
      certificate: values["ssl-grpc-certificate-chain-file"],
      key: values["ssl-grpc-private-key-file"],
    })),
    verifiesPeer: true,
    verifiesHost: true,
  };
}

/** As curl has them: hosts are verified by 2 alone. */
async function httpsTls(values: Values): Promise<TlsOptions> {
  const certificateType = "ssl-https-client-certificate-type";
  const keyType = "ssl-https-private-key-type";
  const isDer = {
    certificate: oneOf(certificateType, values[certificateType], ["PEM", "DER"]) === "DER",
    key: oneOf(keyType, values[keyType], ["PEM", "DER"]) === "DER",
  };
  const given = await files({
    authorities: values["ssl-https-ca-certificates-file"],
    certificate: values["ssl-https-client-certificate-file"],
    key: values["ssl-https-private-key-file"],
  });
  const peer = oneOf("ssl-https-verify-peer", values["ssl-https-verify-peer"], ["0", "1"]) ?? "1";
  const host = oneOf("ssl-https-verify-host", values["ssl-https-verify-host"], ["0", "1", "2"]) ?? "2";
  return {
    ...given,
    ...(given.certificate !== undefined &&
      isDer.certificate && { certificate: pem(given.certificate, "CERTIFICATE") }),
    ...(given.key !== undefined && isDer.key && { key: pem(given.key, "PRIVATE KEY") }),
    verifiesPeer: peer === "1",
    verifiesHost: host === "2",
  };
}

/** Node takes certificates and keys as PEM. */
function pem(der: Buffer, label: string): Buffer {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return Buffer.from([`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n"));
}

async function files<Name extends string>(
  paths: Readonly<Record<Name, string | undefined>>,
): Promise<Partial<Record<Name, Buffer>>> {
  const found: Partial<Record<Name, Buffer>> = {};
  for (const name of Object.keys(paths) as Name[]) {
    const path = paths[name];
    if (path !== undefined) found[name] = await readFile(path);
  }
  return found;
}

function headersOf(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const [, name, value = ""] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? [];
      if (name === undefined) throw new UsageError(`-H must be NAME:VALUE, but it is '${text}'`);
      return [name, value];
    }),
  );
}

/** What is to be set at the server; `undefined`: nothing. */
export function traceOf(values: Values): TraceSettingsUpdate | undefined {
  const level = values["trace-level"] ?? [];
  for (const one of level) oneOf("trace-level", one, ["OFF", "TIMESTAMPS", "TENSORS"]);
  const rate = wholeNumber("trace-rate", values["trace-rate"]);
  const count = values["trace-count"];
  if (count !== undefined && count !== "-1") wholeNumber("trace-count", count);
  const frequency = wholeNumber("log-frequency", values["log-frequency"]);
  const file = values["trace-file"];
  const update = {
    ...(level.length > 0 && { trace_level: level }),
    ...(rate !== undefined && { trace_rate: String(rate) }),
    ...(count !== undefined && { trace_count: count }),
    ...(frequency !== undefined && { log_frequency: String(frequency) }),
    ...(file !== undefined && { trace_file: file }),
  };
  return Object.keys(update).length === 0 ? undefined : update;
}
