import type { ReactElement } from "react";
import { useRef, useState } from "react";
import type { StepTimes } from "../lib/measure-steps.ts";
import { measureSteps } from "../lib/measure-steps.ts";
import { samplePage } from "../lib/sample-page.ts";
import type { InferResult } from "../lib/v2.ts";
import { infer } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";
import { FileDrop } from "./file-drop.tsx";
import { PictureSource } from "./picture-source.tsx";
import { PipelineSteps } from "./pipeline-steps.tsx";

const STEPS = [
  { model: "text_image", does: "decodes the file and scales it" },
  { model: "ocr_detector", does: "marks the pixels of text" },
  { model: "text_lines", does: "cuts out the lines and asks for each" },
  { model: "ocr_recognizer", does: "reads a line" },
];
const SAMPLES = [{ label: "Sample page", open: samplePage }];

interface Line {
  readonly text: string;
  readonly score: number;
  readonly box: readonly [left: number, top: number, width: number, height: number];
}

/** The bytes of a picture file go to an ensemble, and its lines of text come back. */
export function TextReading({ model, perform }: RunnerProps): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [lines, setLines] = useState<readonly Line[]>();
  const [times, setTimes] = useState<readonly StepTimes[]>([]);

  const read = async (file: Blob): Promise<void> => {
    setLines(undefined);
    const picture = await createImageBitmap(file).catch(() => undefined);
    const data = new Uint8Array(await file.arrayBuffer());
    const result = await perform(async () => {
      if (picture !== undefined) paint(canvas.current, picture, []);
      const measured = await measureSteps(
        STEPS.map((step) => step.model),
        () => infer(model, [{ name: "IMAGE", datatype: "UINT8", shape: [data.length], data }]),
      );
      setTimes(measured.steps);
      return measured.result;
    });
    if (result !== undefined && picture !== undefined) {
      const found = linesOf(result);
      setLines(found);
      paint(canvas.current, picture, found);
    }
    picture?.close();
  };

  return (
    <FileDrop className="pipeline" onFile={(file) => void read(file)}>
      <div className="actions">
        <PictureSource samples={SAMPLES} onPicture={(file) => void read(file)} />
        <span className="quiet">A page, a sign, a label: choose a picture, or drop one here.</span>
      </div>
      <canvas ref={canvas} width={960} height={440} aria-label="Picture with text" />
      {lines !== undefined && (
        <ol className="lines" data-testid="lines">
          {lines.map(({ text, score }, index) => (
            // Lines come in reading order, and nothing else tells two equal ones apart.
            <li key={index}>
              <output>{text}</output>
              <span className="quiet">{(score * 100).toFixed(0)} %</span>
            </li>
          ))}
          {lines.length === 0 && <li className="quiet">No text found.</li>}
        </ol>
      )}
      <PipelineSteps steps={STEPS} times={times} />
    </FileDrop>
  );
}

function linesOf({ outputs, texts }: InferResult): readonly Line[] {
  const boxes = outputs.get("BOX") ?? new Float32Array();
  return (texts.get("TEXT") ?? []).map((text, index) => {
    const [left = 0, top = 0, width = 0, height = 0] = boxes.subarray(index * 4, index * 4 + 4);
    return { text, score: outputs.get("SCORE")?.[index] ?? 0, box: [left, top, width, height] };
  });
}

function paint(canvas: HTMLCanvasElement | null, picture: ImageBitmap, lines: readonly Line[]): void {
  const context = canvas?.getContext("2d");
  if (canvas === null || context === null || context === undefined) return;
  canvas.width = picture.width;
  canvas.height = picture.height;
  context.drawImage(picture, 0, 0);
  context.lineWidth = Math.max(2, picture.width / 400);
  context.strokeStyle = "#12b5a6";
  for (const { box } of lines) context.strokeRect(...box);
}
