import type { ModelMetadata } from "naiad";
import type { ReactElement } from "react";
import { useEffect, useState } from "react";
import { pretty } from "../lib/format.ts";
import { inferText, modelUrl } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";

const BURST = 64;
/** A tensor with more elements than this is not written out. */
const MOST_ELEMENTS = 1_024;

/** A JSON request as text, prefilled from the model's metadata; sent once, or many times at once to see the batcher work. */
export function RequestEditor({ model, perform }: RunnerProps): ReactElement {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    const ended = new AbortController();
    fetch(modelUrl(model), { signal: ended.signal })
      .then((response) => response.json() as Promise<ModelMetadata>)
      .then((metadata) => setText(pretty(sampleRequest(metadata))))
      .catch(() => undefined);
    return () => ended.abort();
  }, [model]);

  const send = async (count: number): Promise<void> => {
    setBusy(true);
    await perform(async () => {
      const answers = await Promise.all(Array.from({ length: count }, () => inferText(model, text)));
      const last = answers.at(-1);
      if (last === undefined) throw new Error("nothing was sent");
      return last;
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

/** Bytes of one element; only what is sent in binary needs them. */
const ELEMENT_BYTES: Readonly<Record<string, number>> = {
  FP16: 2,
  BF16: 2,
  FP32: 4,
  FP64: 8,
  UINT8: 1,
  INT32: 4,
  INT64: 8,
};

/** A valid request: variable dimensions become 1. Large tensors, and those that JSON cannot carry, are sent as zero bytes. */
function sampleRequest({ inputs, outputs }: ModelMetadata): unknown {
  const needsBinary = [...inputs, ...outputs].some(({ datatype }) => BINARY_ONLY.has(datatype));
  return {
    inputs: inputs.map(({ name, datatype, shape: declared }) => {
      const shape = declared.map((dim) => (dim < 0 ? 1 : dim));
      const count = shape.reduce((product, dim) => product * dim, 1);
      const elementBytes = ELEMENT_BYTES[datatype];
      if (elementBytes !== undefined && (count > MOST_ELEMENTS || BINARY_ONLY.has(datatype))) {
        return { name, datatype, shape, parameters: { binary_data_size: count * elementBytes } };
      }
      return {
        name,
        datatype,
        shape,
        data: Array.from({ length: count }, (_, index) => sampleValue(datatype, index)),
      };
    }),
    ...(needsBinary && { parameters: { binary_data_output: true } }),
  };
}

const BINARY_ONLY: ReadonlySet<string> = new Set(["FP16", "BF16"]);

function sampleValue(datatype: string, index: number): string | boolean | number {
  if (datatype === "BYTES") return String(index);
  if (datatype === "BOOL") return index % 2 === 0;
  return datatype.startsWith("FP") ? index / 10 : index % 100;
}
