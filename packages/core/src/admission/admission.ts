import type { ModelConfig, ModelSignature } from "@naiad/model-config";
import type { RequestRateLimit } from "@naiad/protocol";
import { InferenceError, requestIdPrefix } from "@naiad/protocol";
import type { Clock } from "../ports.ts";
import type { ValidRequest } from "../scheduling/scheduler.ts";
import { hostBytes } from "../scheduling/tensor-bytes.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { RequestRates } from "./request-rates.ts";
import { requestRatesOf } from "./request-rates.ts";
import type { TokenDecision } from "./token-bucket.ts";
import { takeToken } from "./token-bucket.ts";

/** What the server as a whole accepts, before a request reaches the scheduler of its model. */
export interface Admission {
  /**
   * Throws UNAVAILABLE for a request that is too much: beyond the byte budget, or faster than the limits of its model and
   * its priority level allow, and then with the time after which another may come. A request that is admitted counts
   * until the returned function is called, which must be once, whatever became of it. What a server asks of its own
   * models, on behalf of a request that was admitted, is not asked here again.
   */
  admit(request: ValidRequest, model: AdmissionTarget): () => void;
}

export interface AdmissionTarget {
  readonly modelName: string;
  readonly config: ModelConfig;
  readonly signature: ModelSignature;
}

export interface AdmissionOptions {
  readonly budget: ByteBudget;
  /** Of models that do not say themselves. */
  readonly requestRateLimit: RequestRateLimit;
  readonly clock: Clock;
}

/** A limit that one request counts against. */
interface Bucket {
  readonly key: string;
  readonly decision: TokenDecision;
  /** For the text of a refusal. */
  readonly whose: string;
}

export function createAdmission({ budget, requestRateLimit, clock }: AdmissionOptions): Admission {
  const rates = new WeakMap<ModelConfig, RequestRates>();
  /** When each bucket is full. All versions of a model share theirs, which outlives a reload. */
  const fullAtNs = new Map<string, number>();

  function ratesOf(config: ModelConfig): RequestRates {
    const known = rates.get(config) ?? requestRatesOf(config, requestRateLimit);
    rates.set(config, known);
    return known;
  }

  function bucketsOf(
    request: ValidRequest,
    { modelName, config, signature }: AdmissionTarget,
  ): readonly Bucket[] {
    const { model, levels } = ratesOf(config);
    if (model === undefined && levels.size === 0) return [];
    const level = levelOf(request, signature);
    const ofLevel = levels.get(level);
    const nowNs = clock.nowNs();
    return [
      { key: modelName, rate: model, whose: `model '${modelName}'` },
      {
        key: `${modelName}:${String(level)}`,
        rate: ofLevel,
        whose: `model '${modelName}' at priority level ${String(level)}`,
      },
    ].flatMap(({ key, rate, whose }) =>
      rate === undefined ? [] : [{ key, whose, decision: takeToken(fullAtNs.get(key) ?? 0, rate, nowNs) }],
    );
  }

  return {
    admit: (request, model) => {
      const bytes = REQUEST_BYTES + hostBytes(request.inputs);
      if (!budget.fits(bytes)) {
        throw new InferenceError("UNAVAILABLE", `${requestIdPrefix(request.id)}Exceeds maximum queue size`);
      }
      const buckets = bucketsOf(request, model);
      const refusal = refusalOf(request, buckets);
      if (refusal !== undefined) throw refusal;
      for (const { key, decision } of buckets) {
        if (decision.kind === "taken") fullAtNs.set(key, decision.fullAtNs);
      }
      return budget.hold(bytes);
    },
  };
}

/** Of the limits that refuse, the one that is to be waited for longest. */
function refusalOf({ id }: ValidRequest, buckets: readonly Bucket[]): InferenceError | undefined {
  let refusal: InferenceError | undefined;
  for (const { decision, whose } of buckets) {
    if (decision.kind !== "refused") continue;
    const retryAfterSecs = decision.retryAfterNs / 1e9;
    if (retryAfterSecs <= (refusal?.retryAfterSecs ?? 0)) continue;
    const message = `${requestIdPrefix(id)}Exceeds maximum request rate of ${whose}`;
    refusal = new InferenceError("UNAVAILABLE", message, { retryAfterSecs });
  }
  return refusal;
}

function levelOf({ priority }: ValidRequest, { priority: { levels, defaultLevel } }: ModelSignature): number {
  return priority === 0 || priority > levels ? defaultLevel : priority;
}

/**
 * What a request takes besides its inputs, until it is answered: its records, its promises and its place in queues and
 * lists. Measured in V8: 3.2 KB for one that waits in the dynamic batcher. Without it a flood of tiny requests would fill
 * the memory and count as nothing.
 */
const REQUEST_BYTES = 4096;
