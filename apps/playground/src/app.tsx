import { useRef, useState } from "react";
import type { ReactElement } from "react";
import { DiagnosisView } from "./components/diagnosis-view.tsx";
import { Header } from "./components/header.tsx";
import { LogView } from "./components/log-view.tsx";
import { ModelList } from "./components/model-list.tsx";
import { ModelView } from "./components/model-view.tsx";
import { useServer } from "./lib/use-server.ts";

const FIRST_MODEL = "ocr_recognizer";

/** The model that the address names; a hash that is no encoded name counts as none. */
function modelInHash(): string {
  try {
    return decodeURIComponent(location.hash.slice(1)) || FIRST_MODEL;
  } catch {
    return FIRST_MODEL;
  }
}

export function App(): ReactElement {
  const server = useServer();
  const [selected, select] = useState(modelInHash);
  const stage = useRef<HTMLElement>(null);
  const choose = (name: string): void => {
    history.replaceState(null, "", `#${encodeURIComponent(name)}`);
    select(name);
    // On a narrow screen the list stands above the model.
    stage.current?.scrollIntoView({ block: "nearest", behavior: "smooth" });
  };
  const model = server.models.find(({ name }) => name === selected);
  return (
    <div className="app">
      <Header server={server} />
      <div className="columns">
        <ModelList server={server} selected={selected} onSelect={choose} />
        <main className="stage" ref={stage}>
          {server.phase.kind === "failed" && (
            <section className="card notice" role="alert">
              <h2>The server did not start</h2>
              <p>{server.phase.message}</p>
            </section>
          )}
          {model === undefined ? (
            server.phase.kind !== "failed" && (
              <section className="card placeholder">
                <p>
                  {server.phase.kind === "ready"
                    ? "Choose a model on the left."
                    : "Starting the server in this tab…"}
                </p>
              </section>
            )
          ) : (
            <ModelView key={model.name} model={model} server={server} />
          )}
          <LogView entries={server.log} />
          <DiagnosisView />
        </main>
      </div>
    </div>
  );
}
