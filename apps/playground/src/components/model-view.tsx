import type { ReactElement } from "react";
import { useState } from "react";
import type { ModelEntry, ServerView } from "../lib/use-server.ts";
import { textOf } from "../lib/use-server.ts";
import { useStatistics } from "../lib/use-statistics.ts";
import type { Exchange } from "../lib/v2.ts";
import { V2Error } from "../lib/v2.ts";
import { ExchangePanel } from "./exchange-panel.tsx";
import { FaceDetection } from "./face-detection.tsx";
import { ImageClassification } from "./image-classification.tsx";
import { InstanceTable } from "./instance-table.tsx";
import { RequestEditor } from "./request-editor.tsx";
import { SoundFeatures } from "./sound-features-view.tsx";
import { StatisticsPanel } from "./statistics-panel.tsx";
import { StoryWriting } from "./story-writing.tsx";
import { TextReading } from "./text-reading.tsx";
import { TextRecognition } from "./text-recognition.tsx";
import { VoiceDetection } from "./voice-detection.tsx";

/** What a view of a model needs to run it: `perform` shows the exchange, its error, and what it did to the statistics. */
export interface RunnerProps {
  readonly model: string;
  readonly perform: <Result extends { readonly exchange: Exchange }>(
    work: () => Promise<Result>,
  ) => Promise<Result | undefined>;
}

/** Models that do something on real input; all others get the request editor. */
const RUNNERS: Readonly<
  Record<string, { readonly title: string; readonly view: (props: RunnerProps) => ReactElement }>
> = {
  image_classification: { title: "Name what is on a picture", view: ImageClassification },
  text_reading: { title: "Read a page of text", view: TextReading },
  sound_features: { title: "Hear words and voices", view: SoundFeatures },
  tiny_lm: { title: "Write a story", view: StoryWriting },
  ocr_recognizer: { title: "Read a line of text", view: TextRecognition },
  blazeface: { title: "Find faces", view: FaceDetection },
  blazeface_back: { title: "Find faces", view: FaceDetection },
  silero_vad: { title: "Hear a voice", view: VoiceDetection },
};

export function ModelView({
  model,
  server,
}: {
  readonly model: ModelEntry;
  readonly server: ServerView;
}): ReactElement {
  const ready = model.state === "READY";
  const runner = RUNNERS[model.name];
  const [tab, setTab] = useState<"runner" | "editor">(runner === undefined ? "editor" : "runner");
  const [exchange, setExchange] = useState<Exchange>();
  const [error, setError] = useState("");
  const statistics = useStatistics(model.name, ready);

  const perform: RunnerProps["perform"] = async (work) => {
    try {
      setError("");
      const result = await work();
      setExchange(result.exchange);
      return result;
    } catch (failure) {
      if (failure instanceof V2Error) setExchange(failure.exchange);
      setError(textOf(failure));
      return undefined;
    } finally {
      server.refresh();
      await statistics.refresh().catch(() => undefined);
    }
  };

  return (
    <>
      <section className="card runner" aria-label={model.name}>
        <div className="title-row">
          <h2>{tab === "runner" && runner !== undefined ? runner.title : model.name}</h2>
          {runner !== undefined && (
            <div className="tabs" role="tablist">
              <Tab label="Try it" selected={tab === "runner"} onSelect={() => setTab("runner")} />
              <Tab label="Request editor" selected={tab === "editor"} onSelect={() => setTab("editor")} />
            </div>
          )}
        </div>
        {ready ? (
          tab === "runner" && runner !== undefined ? (
            <runner.view model={model.name} perform={perform} />
          ) : (
            <RequestEditor model={model.name} perform={perform} />
          )
        ) : (
          <NotReady model={model} server={server} />
        )}
        {error !== "" && (
          <p className="error" role="alert">
            {error}
          </p>
        )}
      </section>
      {ready && model.instances.length > 0 && <InstanceTable instances={model.instances} />}
      {ready && <StatisticsPanel statistics={statistics} />}
      {exchange !== undefined && <ExchangePanel exchange={exchange} />}
    </>
  );
}

function NotReady({
  model,
  server,
}: {
  readonly model: ModelEntry;
  readonly server: ServerView;
}): ReactElement {
  const waiting = model.state === "LOADING" || model.state === "UNLOADING";
  return (
    <div className="placeholder">
      <p>{waiting ? `${model.name} is ${model.state.toLowerCase()}…` : `${model.name} is not loaded.`}</p>
      {model.reason !== "" && model.state === "UNAVAILABLE" && <p className="error">{model.reason}</p>}
      {!waiting && (
        <button
          type="button"
          className="primary"
          disabled={server.phase.kind !== "ready"}
          onClick={() => server.load(model.name)}
        >
          Load {model.name}
        </button>
      )}
    </div>
  );
}

function Tab(props: {
  readonly label: string;
  readonly selected: boolean;
  readonly onSelect: () => void;
}): ReactElement {
  return (
    <button type="button" role="tab" aria-selected={props.selected} onClick={props.onSelect}>
      {props.label}
    </button>
  );
}
