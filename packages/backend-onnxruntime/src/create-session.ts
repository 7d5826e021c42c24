import type { InferenceSession } from "onnxruntime-web";
import type { Ort } from "./engine.ts";
import { createError, engineFailure, hasContradictingShapes } from "./engine-error.ts";
import type { InstanceHooks, OnnxInstanceSpec } from "./instance.ts";
import { sessionOptions } from "./session-options.ts";

/**
 * A session on the one execution provider of the target. A model whose declared shapes contradict what its graph gives
 * (exporters do that) loads only without graph optimisation, so that is tried once.
 */
export async function createSession(
  ort: Ort,
  spec: OnnxInstanceSpec,
  hooks: Pick<InstanceHooks, "log">,
): Promise<InferenceSession> {
  const attempt = (optimization: "configured" | "disabled"): Promise<InferenceSession> =>
    ort.InferenceSession.create(spec.model, sessionOptions({ ...spec, optimization }));
  const { name } = spec.config;
  const first = await tried(attempt("configured"));
  if (first.kind === "made") return first.session;
  const failure = engineFailure(first.thrown);
  if (!hasContradictingShapes(failure)) throw createError(failure, spec.target.kind);
  const second = await tried(attempt("disabled"));
  if (second.kind === "failed") throw createError(failure, spec.target.kind);
  hooks.log("warning", `model '${name}' runs without graph optimisation: ${failure.message}`);
  return second.session;
}

type Tried =
  | { readonly kind: "made"; readonly session: InferenceSession }
  | { readonly kind: "failed"; readonly thrown: unknown };

async function tried(attempt: Promise<InferenceSession>): Promise<Tried> {
  try {
    return { kind: "made", session: await attempt };
  } catch (thrown) {
    return { kind: "failed", thrown };
  }
}
