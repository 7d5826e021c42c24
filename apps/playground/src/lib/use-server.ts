import type { HostInfo, InstanceReport, NaiadServer, RepositoryIndexEntry, ServerEvent } from "naiad";
import { startServer } from "naiad";
import { useCallback, useEffect, useMemo, useState } from "react";

const LOG_LINES = 200;

export interface ModelProgress {
  readonly loadedBytes: number;
  readonly totalBytes: number;
}

/** One model of the repository, all its versions together. */
export interface ModelEntry {
  readonly name: string;
  readonly versions: readonly RepositoryIndexEntry[];
  readonly state: "NOT LOADED" | "READY" | "LOADING" | "UNLOADING" | "UNAVAILABLE";
  readonly reason: string;
  readonly progress: ModelProgress | undefined;
  readonly instances: readonly InstanceReport[];
}

export interface LogEntry {
  readonly id: number;
  readonly level: string;
  readonly message: string;
  readonly epochMs: number;
}

export type Phase =
  | { readonly kind: "starting" }
  | { readonly kind: "ready"; readonly server: NaiadServer }
  | { readonly kind: "failed"; readonly message: string };

export interface ServerView {
  readonly phase: Phase;
  readonly info: HostInfo | undefined;
  readonly models: readonly ModelEntry[];
  readonly log: readonly LogEntry[];
  /** Both report their failure in the log and in the model's state. */
  load(name: string): void;
  unload(name: string): void;
  /** Reads the index and the instances again, for example their executions after a run. */
  refresh(): void;
}

interface Snapshot {
  readonly index: readonly RepositoryIndexEntry[];
  readonly instances: readonly InstanceReport[];
}

/** Starts the server of this page, once, and keeps a picture of it. */
export function useServer(): ServerView {
  const [phase, setPhase] = useState<Phase>({ kind: "starting" });
  const [info, setInfo] = useState<HostInfo>();
  const [snapshot, setSnapshot] = useState<Snapshot>({ index: [], instances: [] });
  const [progress, setProgress] = useState<Readonly<Record<string, ModelProgress>>>({});
  const [busy, setBusy] = useState<Readonly<Record<string, "LOADING" | "UNLOADING">>>({});
  const [failures, setFailures] = useState<Readonly<Record<string, string>>>({});
  const [log, setLog] = useState<readonly LogEntry[]>([]);

  const say = useCallback((level: string, message: string, epochMs = Date.now()) => {
    setLog((entries) => [
      ...entries.slice(1 - LOG_LINES),
      { id: (entries.at(-1)?.id ?? 0) + 1, level, message, epochMs },
    ]);
  }, []);

  const hear = useCallback(
    (event: ServerEvent) => {
      if (event.kind === "log") {
        say(event.level, event.message, event.epochMs);
      } else if (event.kind === "progress") {
        const { modelName, modelLoadedBytes, modelTotalBytes } = event;
        setProgress((all) => ({
          ...all,
          [modelName]: { loadedBytes: modelLoadedBytes, totalBytes: modelTotalBytes },
        }));
      }
    },
    [say],
  );

  const refresh = useCallback(async (server: NaiadServer) => {
    const [index, instances] = await Promise.all([server.client.repositoryIndex(), server.instances()]);
    setSnapshot({ index, instances });
  }, []);

  useEffect(() => {
    const ended = new AbortController();
    const begin = async (): Promise<void> => {
      try {
        const server = await startServer({ modelRepository: "models/", base: import.meta.env.BASE_URL });
        if (ended.signal.aborted) return;
        setInfo(await server.info());
        await refresh(server);
        setPhase({ kind: "ready", server });
        for await (const event of server.events({ signal: ended.signal })) {
          hear(event);
          if (event.kind === "model") await refresh(server);
        }
      } catch (error) {
        if (!ended.signal.aborted) setPhase({ kind: "failed", message: textOf(error) });
      }
    };
    void begin();
    return () => ended.abort();
  }, [hear, refresh]);

  const change = useCallback(
    (name: string, state: "LOADING" | "UNLOADING", work: (server: NaiadServer) => Promise<unknown>) => {
      if (phase.kind !== "ready") return;
      const { server } = phase;
      setBusy((all) => ({ ...all, [name]: state }));
      setFailures((all) => without(all, name));
      work(server)
        .catch((error: unknown) => {
          setFailures((all) => ({ ...all, [name]: textOf(error) }));
        })
        .finally(() => {
          setBusy((all) => without(all, name));
          setProgress((all) => without(all, name));
          refresh(server).catch((error: unknown) => say("error", textOf(error)));
        });
    },
    [phase, refresh, say],
  );

  const look = useCallback(() => {
    if (phase.kind !== "ready") return;
    refresh(phase.server).catch((error: unknown) => {
      say("error", textOf(error));
    });
  }, [phase, refresh, say]);

  const models = useMemo(
    () => modelEntries(snapshot, progress, busy, failures),
    [snapshot, progress, busy, failures],
  );
  return {
    phase,
    info,
    models,
    log,
    refresh: look,
    load: (name) => change(name, "LOADING", ({ client }) => client.loadModel(name)),
    unload: (name) => change(name, "UNLOADING", ({ client }) => client.unloadModel(name)),
  };
}

function modelEntries(
  { index, instances }: Snapshot,
  progress: Readonly<Record<string, ModelProgress>>,
  busy: Readonly<Record<string, "LOADING" | "UNLOADING">>,
  failures: Readonly<Record<string, string>>,
): ModelEntry[] {
  const names = [...new Set(index.map(({ name }) => name))];
  return names.map((name) => {
    const versions = index.filter((entry) => entry.name === name);
    const failed = versions.find(({ state }) => state === "UNAVAILABLE");
    return {
      name,
      versions,
      state: busy[name] ?? (failures[name] === undefined ? stateOf(versions) : "UNAVAILABLE"),
      // What a load was refused with says more than the index, which has no line for a model that cannot be polled.
      reason: failures[name] ?? failed?.reason ?? "",
      progress: progress[name],
      instances: instances.filter(({ modelName }) => modelName === name),
    };
  });
}

function stateOf(versions: readonly RepositoryIndexEntry[]): ModelEntry["state"] {
  const states = versions.map(({ state }) => state);
  if (states.includes("READY")) return "READY";
  if (states.includes("LOADING")) return "LOADING";
  if (states.includes("UNLOADING")) return "UNLOADING";
  const failed = versions.some(({ state, reason }) => state === "UNAVAILABLE" && reason !== "unloaded");
  return failed ? "UNAVAILABLE" : "NOT LOADED";
}

function without<Value>(
  record: Readonly<Record<string, Value>>,
  name: string,
): Readonly<Record<string, Value>> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
