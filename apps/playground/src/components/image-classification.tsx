import cat from "../photos/cat.jpg?url";
import coffee from "../photos/coffee.jpg?url";
import type { ReactElement } from "react";
import { useEffect, useState } from "react";
import type { StepTimes } from "../lib/measure-steps.ts";
import { measureSteps } from "../lib/measure-steps.ts";
import { openFile } from "../lib/open-file.ts";
import type { InferResult } from "../lib/v2.ts";
import { infer } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";
import { FileDrop } from "./file-drop.tsx";
import { PictureSource } from "./picture-source.tsx";
import { PipelineSteps } from "./pipeline-steps.tsx";

const STEPS = [
  { model: "image_pixels", does: "decodes the file and scales it" },
  { model: "efficientnet_lite0", does: "gives 1,000 classes their probabilities" },
  { model: "image_label", does: "names the likeliest" },
];

const SAMPLES = [
  { label: "Cup", open: () => openFile(coffee) },
  { label: "Cat", open: () => openFile(cat) },
];
/** Requests at once of the button that shows how they share executions. */
const MANY = 12;

/** The bytes of a picture file go to an ensemble, and a name comes back. */
export function ImageClassification({ model, perform }: RunnerProps): ReactElement {
  const [picture, setPicture] = useState<Blob>();
  const [answer, setAnswer] = useState<{ readonly name: string; readonly score: number }>();
  const [times, setTimes] = useState<readonly StepTimes[]>([]);
  const shown = useObjectUrl(picture);

  const classify = async (file: Blob, count = 1): Promise<void> => {
    setPicture(file);
    setAnswer(undefined);
    const data = new Uint8Array(await file.arrayBuffer());
    const ask = (): Promise<InferResult> =>
      infer(model, [{ name: "IMAGE", datatype: "UINT8", shape: [1, data.length], data }]);
    const names = STEPS.map((step) => step.model);
    const result = await perform(async () => {
      const measured = await measureSteps(names, () =>
        Promise.all([ask(), ...Array.from({ length: count - 1 }, ask)]),
      );
      setTimes(measured.steps);
      return measured.result[0];
    });
    if (result === undefined) return;
    setAnswer({
      name: result.texts.get("CLASS")?.[0] ?? "",
      score: result.outputs.get("SCORE")?.[0] ?? 0,
    });
  };

  return (
    <FileDrop className="pipeline" onFile={(file) => void classify(file)}>
      <div className="actions">
        <PictureSource samples={SAMPLES} onPicture={(file) => void classify(file)} />
        <button
          type="button"
          disabled={picture === undefined}
          onClick={() => picture && void classify(picture, MANY)}
        >
          {MANY} at once
        </button>
        {picture === undefined && <span className="quiet">Choose a picture, or drop one here.</span>}
      </div>
      {shown !== undefined && (
        <div className="pipeline-result">
          <img src={shown} alt="What is classified" />
          {answer !== undefined && (
            <p className="answer" data-testid="class">
              <output>{answer.name}</output>
              <span className="quiet">{(answer.score * 100).toFixed(0)} % sure</span>
            </p>
          )}
        </div>
      )}
      <PipelineSteps steps={STEPS} times={times} />
    </FileDrop>
  );
}

/** A URL for the picture, for as long as it is shown. */
function useObjectUrl(blob: Blob | undefined): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    if (blob === undefined) return;
    const made = URL.createObjectURL(blob);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [blob]);
  return url;
}
