import type { ModelMetadata } from "naiad";
import type { ReactElement } from "react";
import { useEffect, useState } from "react";
import { call, modelUrl } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";

const BURST = 64;
const SAMPLE_ELEMENTS = 64;

/** A JSON request as text, prefilled from the model's metadata; sent once, or many times at once to see the batcher work. */
export function RequestEditor({ model, perform }: RunnerProps): ReactElement {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const ended = new AbortController();
    fetch(modelUrl(model), { signal: ended.signal })
      .then((response) => response.json() as Promise<ModelMetadata>)
      .then((metadata) => setText(JSON.stringify(sampleRequest(metadata), undefined, 2)))
      .catch(() => undefined);
    return () => ended.abort();
  }, [model]);

  const send = async (count: number): Promise<void> => {
    setBusy(true);
    await perform(async () => {
      const exchanges = await Promise.all(
        Array.from({ length: count }, () => call("POST", modelUrl(model, "/infer"), text)),
      );
      const shown = exchanges.find(({ status }) => status !== 200) ?? exchanges.at(-1);
      if (shown === undefined) throw new Error("nothing was sent");
      return { exchange: shown };
    });
    setBusy(false);
  };

  return (
    <div className="editor">
      <textarea
        aria-label="Request body"
        spellCheck={false}
        rows={12}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className="actions">
        <button type="button" className="primary" disabled={busy} onClick={() => void send(1)}>
          Infer
        </button>
        <button type="button" disabled={busy} onClick={() => void send(BURST)}>
          {BURST} at once
        </button>
      </div>
    </div>
  );
}

/** A small valid request: variable dimensions become 1, and large tensors are left to the binary extension. */
function sampleRequest({ inputs }: ModelMetadata): unknown {
  return {
    inputs: inputs.map(({ name, datatype, shape }) => {
      const full = shape.map((dim) => (dim < 0 ? 1 : dim));
      const count = full.reduce((product, dim) => product * dim, 1);
      const data =
        count > SAMPLE_ELEMENTS * 64
          ? []
          : Array.from({ length: count }, (_, index) => sampleValue(datatype, index));
      return { name, datatype, shape: full, data };
    }),
  };
}

function sampleValue(datatype: string, index: number): string | boolean | number {
  if (datatype === "BYTES") return String(index);
  if (datatype === "BOOL") return index % 2 === 0;
  return datatype.startsWith("FP") ? index / 10 : index % 100;
}
