import sample from "../../node_modules/@vladmandic/face-api/demo/sample1.jpg?url";
import type { ReactElement } from "react";
import { useCallback, useEffect, useRef, useState } from "react";
import type { Face } from "../lib/blazeface.ts";
import { decodeFaces } from "../lib/blazeface.ts";
import { openFile } from "../lib/open-file.ts";
import { squareTensor, unfit } from "../lib/square-image.ts";
import { textOf } from "../lib/use-server.ts";
import type { InferResult } from "../lib/v2.ts";
import { infer } from "../lib/v2.ts";
import type { RunnerProps } from "./model-view.tsx";
import { FileDrop } from "./file-drop.tsx";
import { PictureSource } from "./picture-source.tsx";

/** Side of each model's input in pixels. */
const SIZES: Readonly<Record<string, number>> = { blazeface: 128, blazeface_back: 256 };

const SAMPLES = [{ label: "Sample photo", open: () => openFile(sample) }];

/** How often the exchange and the statistics of the camera's pictures are shown: each time costs requests of its own. */
const SHOWN_EVERY_MS = 1_000;

/** BlazeFace on a photo or on the camera. */
export function FaceDetection({ model, perform }: RunnerProps): ReactElement {
  const size = SIZES[model] ?? 128;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [count, setCount] = useState<number>();
  const [camera, setCamera] = useState<MediaStream>();
  const [problem, setProblem] = useState("");
  // A new one at each rendering, of which the camera must not take notice.
  const performNow = useRef(perform);
  useEffect(() => {
    performNow.current = perform;
  }, [perform]);

  const show = useCallback(
    (source: CanvasImageSource, width: number, height: number, faces: readonly Face[]) => {
      const element = canvas.current;
      const context = element?.getContext("2d");
      if (element === null || context === null || context === undefined) return;
      element.width = width;
      element.height = height;
      context.drawImage(source, 0, 0);
      paint(context, faces);
    },
    [],
  );

  const detect = useCallback(
    async (
      source: CanvasImageSource,
      width: number,
      height: number,
    ): Promise<InferResult & { readonly faces: readonly Face[] }> => {
      const { data, shape, fit } = squareTensor(source, width, height, size);
      const result = await infer(model, [{ name: "input:0", datatype: "FP32", shape, data }]);
      const faces = decodeFaces(result.outputs, size).map((face) =>
        inPicture(face, (x, y) => unfit(fit, x, y)),
      );
      return { ...result, faces };
    },
    [model, size],
  );

  const look = useCallback(
    async (picture: Blob) => {
      setProblem("");
      const image = await createImageBitmap(picture).catch(() => undefined);
      if (image === undefined) {
        setProblem("This file is not a picture that the browser can read.");
        return;
      }
      show(image, image.width, image.height, []);
      const result = await perform(() => detect(image, image.width, image.height));
      if (result !== undefined) {
        show(image, image.width, image.height, result.faces);
        setCount(result.faces.length);
      }
      image.close();
    },
    [detect, perform, show],
  );

  useEffect(() => {
    if (camera === undefined) return;
    const ended = new AbortController();
    const video = document.createElement("video");
    const watch = async (): Promise<void> => {
      video.srcObject = camera;
      await video.play();
      let shownAt = -Infinity;
      while (!ended.signal.aborted) {
        const look = (): ReturnType<typeof detect> => detect(video, video.videoWidth, video.videoHeight);
        const isDue = performance.now() - shownAt >= SHOWN_EVERY_MS;
        if (isDue) shownAt = performance.now();
        const result = isDue ? await performNow.current(look) : await look();
        if (result === undefined) {
          setCamera(undefined);
          return;
        }
        show(video, video.videoWidth, video.videoHeight, result.faces);
        setCount(result.faces.length);
        await new Promise(requestAnimationFrame);
      }
    };
    watch().catch((error: unknown) => setProblem(textOf(error)));
    return () => {
      ended.abort();
      for (const track of camera.getTracks()) track.stop();
    };
  }, [camera, detect, show]);

  const toggleCamera = async (): Promise<void> => {
    setProblem("");
    if (camera !== undefined) {
      setCamera(undefined);
      return;
    }
    try {
      setCamera(await navigator.mediaDevices.getUserMedia({ video: { width: 640 } }));
    } catch (error) {
      setProblem(`The camera cannot be used: ${textOf(error)}`);
    }
  };

  const lookAt = (picture: Blob): void => {
    setCamera(undefined);
    void look(picture);
  };

  return (
    <FileDrop className="faces" onFile={lookAt}>
      <div className="actions">
        <PictureSource samples={SAMPLES} onPicture={lookAt} />
        <button type="button" onClick={() => void toggleCamera()}>
          {camera === undefined ? "Camera" : "Stop the camera"}
        </button>
        {count !== undefined && (
          <output data-testid="face-count">
            {count} {count === 1 ? "face" : "faces"}
          </output>
        )}
      </div>
      {problem !== "" && (
        <p className="error" role="alert">
          {problem}
        </p>
      )}
      <canvas ref={canvas} width={640} height={360} aria-label="Photo" />
    </FileDrop>
  );
}

function inPicture(face: Face, map: (x: number, y: number) => readonly [number, number]): Face {
  const [left, top] = map(face.left, face.top);
  const [right, bottom] = map(face.right, face.bottom);
  return { ...face, left, top, right, bottom, landmarks: face.landmarks.map(([x, y]) => map(x, y)) };
}

function paint(context: CanvasRenderingContext2D, faces: readonly Face[]): void {
  const { width, height } = context.canvas;
  const unit = Math.max(2, width / 320);
  context.lineWidth = unit;
  context.font = `600 ${Math.round(unit * 7)}px 'Inter Variable', sans-serif`;
  for (const { left, top, right, bottom, landmarks, score } of faces) {
    context.strokeStyle = "#12b5a6";
    context.strokeRect(left * width, top * height, (right - left) * width, (bottom - top) * height);
    context.fillStyle = "#12b5a6";
    context.fillText(`${(score * 100).toFixed(0)} %`, left * width, top * height - unit * 2);
    context.fillStyle = "#ffd166";
    for (const [x, y] of landmarks) {
      context.beginPath();
      context.arc(x * width, y * height, unit * 1.2, 0, 2 * Math.PI);
      context.fill();
    }
  }
}
