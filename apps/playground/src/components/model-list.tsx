import type { ReactElement } from "react";
import { byteText } from "../lib/format.ts";
import type { ModelEntry, ServerView } from "../lib/use-server.ts";

interface Props {
  readonly server: ServerView;
  readonly selected: string;
  readonly onSelect: (name: string) => void;
}

export function ModelList({ server, selected, onSelect }: Props): ReactElement {
  return (
    <nav className="card models" aria-label="Model repository">
      <h2>Model repository</h2>
      {GROUPS.map(({ title, holds }) => (
        <ModelGroup
          key={title}
          title={title}
          models={server.models.filter(({ name }) => holds(name))}
          {...{ server, selected, onSelect }}
        />
      ))}
    </nav>
  );
}

/** The pipelines are made of the samples, which run on something real; the fixtures are what tests and benchmarks use. */
const PIPELINES = ["image_classification", "text_reading", "sound_features", "tiny_lm"];
const SAMPLES = /^(ocr|blazeface|silero|mel|wake|efficientnet|image|text|sound|voice|tiny)/;
const GROUPS: readonly { readonly title: string; readonly holds: (name: string) => boolean }[] = [
  { title: "Pipelines", holds: (name) => PIPELINES.includes(name) },
  { title: "Samples", holds: (name) => SAMPLES.test(name) && !PIPELINES.includes(name) },
  { title: "Fixtures", holds: (name) => !SAMPLES.test(name) },
];

function ModelGroup({
  title,
  models,
  server,
  selected,
  onSelect,
}: Props & { readonly title: string; readonly models: readonly ModelEntry[] }): ReactElement | null {
  if (models.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul>
        {models.map((model) => (
          <li key={model.name} className={model.name === selected ? "model selected" : "model"}>
            <button type="button" className="model-name" onClick={() => onSelect(model.name)}>
              <span className={`dot ${model.state.toLowerCase().replace(" ", "-")}`} aria-hidden="true" />
              <span>
                {model.name}
                <small>{detail(model)}</small>
              </span>
            </button>
            <LoadButton model={model} server={server} />
            {model.state === "LOADING" && <Progress model={model} />}
          </li>
        ))}
      </ul>
    </>
  );
}

function LoadButton({
  model,
  server,
}: {
  readonly model: ModelEntry;
  readonly server: ServerView;
}): ReactElement {
  const loaded = model.state === "READY";
  const busy = model.state === "LOADING" || model.state === "UNLOADING" || server.phase.kind !== "ready";
  return (
    <button
      type="button"
      className="load"
      disabled={busy}
      aria-label={`${loaded ? "Unload" : "Load"} ${model.name}`}
      onClick={() => (loaded ? server.unload(model.name) : server.load(model.name))}
    >
      {loaded ? "Unload" : "Load"}
    </button>
  );
}

function Progress({ model }: { readonly model: ModelEntry }): ReactElement {
  const { progress } = model;
  if (progress === undefined) return <progress aria-label={`Loading ${model.name}`} />;
  return (
    <progress
      aria-label={`Loading ${model.name}`}
      value={progress.loadedBytes}
      max={Math.max(progress.totalBytes, 1)}
    />
  );
}

function detail({ state, reason, progress, versions, instances }: ModelEntry): string {
  if (state === "LOADING" && progress !== undefined)
    return `${byteText(progress.loadedBytes)} of ${byteText(progress.totalBytes)}`;
  if (state === "UNAVAILABLE") return reason;
  if (state !== "READY") return state.toLowerCase();
  const providers = [...new Set(instances.map(({ device }) => device?.executionProvider ?? "…"))].join(", ");
  const ready = versions.filter((version) => version.state === "READY").map(({ version = "" }) => version);
  const where = providers === "" ? "" : ` on ${providers}`;
  return `version ${ready.join(", ")}${where}`;
}
