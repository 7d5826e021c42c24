import type {
  InstanceGroup,
  InstancePlacement,
  ModelFiles,
  ModelStatisticsRecorder,
  RequestOutcome,
  Scheduler,
  StreamedResponse,
} from "@naiad/core";
import {
  createModelStatistics,
  createScheduler,
  readInitialStates,
  startInstanceGroup,
  validateRequest,
} from "@naiad/core";
import { modelSignature, normalizeConfig, parseConfigText } from "@naiad/model-config";
import type { BytesTensor, SequenceFlags } from "@naiad/protocol";
import { elementCount, InferenceError } from "@naiad/protocol";
import type { CollectingLogger } from "./collecting-logger.ts";
import { createCollectingLogger } from "./collecting-logger.ts";
import type { FakeBackend, FakeBackendOptions } from "./fake-backend.ts";
import { createFakeBackend } from "./fake-backend.ts";
import type { FakeClock } from "./fake-clock.ts";
import { createFakeClock } from "./fake-clock.ts";

export interface SchedulerFixtureOptions extends Omit<FakeBackendOptions, "clock"> {
  /** A `config.pbtxt`; `name` defaults to `m`. */
  readonly config: string;
  readonly instances?: number;
  readonly onChange?: () => void;
  /** Content by path inside the model's directory. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

export interface SendOptions {
  /** Names of the inputs; default: all of the model's. */
  readonly inputs?: readonly string[];
  /** Without the batch dimension; variable dimensions are 1 unless given. */
  readonly dims?: readonly number[];
  readonly rows?: number;
  readonly priority?: number;
  readonly timeoutUs?: number;
  readonly sequence?: SequenceFlags;
  readonly onAnswer?: (outcome: RequestOutcome) => void;
  /** Of a decoupled request, after it was noted; the next is taken when it resolves. Default: at once. */
  readonly onResponse?: (response: StreamedResponse) => Promise<void>;
}

/** A request that was given to the scheduler, and what became of it. */
export interface SentRequest {
  readonly id: string;
  readonly inputs: readonly BytesTensor[];
  /** Of a decoupled request, in the order they came. */
  readonly responses: readonly StreamedResponse[];
  /** In the order they came: right is exactly one. */
  readonly outcomes: readonly RequestOutcome[];
  readonly sentNs: number;
  /** Of the first outcome; -1 before. */
  readonly answeredNs: number;
  abort(): void;
}

/** One model on fake instances, from the scheduler down. */
export interface SchedulerFixture {
  readonly clock: FakeClock;
  readonly backend: FakeBackend;
  readonly logger: CollectingLogger;
  readonly statistics: ModelStatisticsRecorder;
  readonly group: InstanceGroup;
  readonly scheduler: Scheduler;
  /** Throws what `enqueue` throws. Ids are 1, 2, 3 ... */
  send(options?: SendOptions): SentRequest;
  sendMany(count: number, options?: SendOptions): readonly SentRequest[];
}

export async function createSchedulerFixture(options: SchedulerFixtureOptions): Promise<SchedulerFixture> {
  const config = normalizeConfig(parseConfigText(options.config, { fileName: "config.pbtxt" }));
  const signature = modelSignature(config);
  const modelName = config.name === "" ? "m" : config.name;
  const clock = createFakeClock();
  const backend = createFakeBackend({ ...options, clock });
  const logger = createCollectingLogger();
  const statistics = createModelStatistics({ clock });
  const starting = startInstanceGroup({
    modelName,
    version: 1,
    placements: placements(modelName, options.instances ?? 1),
    create: backend.create,
    clock,
    logger,
    keepsState: options.keepsState === true,
    signal: new AbortController().signal,
    ...(options.onChange === undefined ? {} : { onChange: options.onChange }),
  });
  await clock.drain();
  const group = await starting;
  const states = await readInitialStates({ ...config, name: modelName }, modelFiles(options.files ?? {}));
  const scheduler = createScheduler({
    modelName,
    config,
    signature,
    states,
    group,
    statistics,
    clock,
    logger,
  });
  let sent = 0;

  const send = (request: SendOptions = {}): SentRequest => {
    const number = sent + 1;
    const rows = request.rows ?? 1;
    const inputs = signature.inputs
      .filter(({ name }) => request.inputs?.includes(name) ?? true)
      .map(({ name, dims }) => {
        const shape = request.dims ?? dims.map((dim) => (dim === -1 ? 1 : dim));
        return floatTensor(name, signature.maxBatchSize > 0 ? [rows, ...shape] : shape, number);
      });
    const controller = new AbortController();
    const outcomes: RequestOutcome[] = [];
    const responses: StreamedResponse[] = [];
    const record = {
      id: String(number),
      inputs,
      responses,
      outcomes,
      sentNs: clock.nowNs(),
      answeredNs: -1,
      abort: () => {
        controller.abort();
      },
    };
    scheduler.enqueue({
      request: validateRequest(
        {
          modelName,
          modelVersion: "",
          id: record.id,
          parameters: {},
          inputs,
          outputs: [],
          ...(request.priority === undefined ? {} : { priority: request.priority }),
          ...(request.timeoutUs === undefined ? {} : { timeoutUs: request.timeoutUs }),
          ...(request.sequence === undefined ? {} : { sequence: request.sequence }),
        },
        { name: modelName, signature },
      ),
      signal: controller.signal,
      startNs: clock.nowNs(),
      ...(signature.decoupled && {
        onResponse: (response: StreamedResponse) => {
          responses.push(response);
          return request.onResponse?.(response) ?? Promise.resolve();
        },
      }),
      respond: (outcome) => {
        if (outcomes.length === 0) record.answeredNs = clock.nowNs();
        outcomes.push(outcome);
        request.onAnswer?.(outcome);
      },
    });
    sent = number;
    return record;
  };

  return {
    clock,
    backend,
    logger,
    statistics,
    group,
    scheduler,
    send,
    sendMany: (count, request) => Array.from({ length: count }, () => send(request)),
  };
}

/** What each request was told: `response`, `end`, the code and text of its error, or `none`. */
export function answerTexts(sent: readonly SentRequest[]): readonly string[] {
  return sent.map(({ outcomes }) => {
    const [outcome] = outcomes;
    if (outcome === undefined) return "none";
    return outcome.kind === "error" ? `${outcome.error.code} ${outcome.error.message}` : outcome.kind;
  });
}

/** Ids of the requests of each execution, joined by commas. */
export function executedIds({ backend }: SchedulerFixture): readonly string[] {
  return backend.executions.map((execution) => execution.requestIds.join());
}

/** Total batch size of each execution. */
export function executedSizes({ backend }: SchedulerFixture): readonly number[] {
  return backend.executions.map((execution) => execution.rows);
}

function placements(modelName: string, count: number): InstancePlacement[] {
  return Array.from({ length: count }, (_, index) => ({
    instanceName: `${modelName}_${index}`,
    device: { kind: "cpu", threads: 1 },
    workerKey: `${modelName}_${index}`,
  }));
}

function modelFiles(files: Readonly<Record<string, Uint8Array>>): ModelFiles {
  return {
    entries: Object.entries(files).map(([path, { length }]) => ({
      path,
      size: length,
      sha256: path,
      chunks: [],
    })),
    location: { kind: "memory" },
    read: (path) => {
      const bytes = files[path];
      if (bytes === undefined)
        return Promise.reject(new InferenceError("NOT_FOUND", `there is no '${path}'`));
      return Promise.resolve(bytes);
    },
  };
}

/** FP32, every element `value`. */
function floatTensor(name: string, shape: readonly number[], value: number): BytesTensor {
  const elements = new Float32Array(elementCount(shape)).fill(value);
  return { kind: "bytes", name, datatype: "FP32", shape, bytes: new Uint8Array(elements.buffer) };
}
