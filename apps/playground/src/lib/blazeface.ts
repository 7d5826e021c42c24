/** A face in fractions of the image: corners and six landmarks (eyes, nose, mouth, ears). */
export interface Face {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
  readonly landmarks: readonly (readonly [x: number, y: number])[];
  readonly score: number;
}

const SCORE_THRESHOLD = 0.6;
const OVERLAP_THRESHOLD = 0.3;
/** Numbers for each anchor: box centre and size, then six landmarks. */
const BOX_VALUES = 16;

/** BlazeFace's anchors: two at each of 16 x 16 places for small faces, six at each of 8 x 8 for large ones. */
const GRIDS = [
  { cells: 16, anchors: 2, scores: "Identity:0", boxes: "Identity_2:0" },
  { cells: 8, anchors: 6, scores: "Identity_1:0", boxes: "Identity_3:0" },
] as const;

/** `size` is the side of the model's input in pixels: boxes are given in them. */
export function decodeFaces(outputs: ReadonlyMap<string, Float32Array>, size: number): Face[] {
  const found: Face[] = [];
  for (const { cells, anchors, scores, boxes } of GRIDS) {
    const score = outputs.get(scores);
    const box = outputs.get(boxes);
    if (score === undefined || box === undefined) throw new Error(`the model gave no ${scores} or ${boxes}`);
    for (let index = 0; index < score.length; index += 1) {
      const probability = 1 / (1 + Math.exp(-(score[index] ?? 0)));
      if (probability < SCORE_THRESHOLD) continue;
      const cell = Math.floor(index / anchors);
      const anchorX = ((cell % cells) + 0.5) / cells;
      const anchorY = (Math.floor(cell / cells) + 0.5) / cells;
      found.push(
        faceAt(
          box.subarray(index * BOX_VALUES, (index + 1) * BOX_VALUES),
          anchorX,
          anchorY,
          size,
          probability,
        ),
      );
    }
  }
  return mergeOverlaps(found);
}

function faceAt(values: Float32Array, anchorX: number, anchorY: number, size: number, score: number): Face {
  const at = (index: number): number => (values[index] ?? 0) / size;
  const [x, y, width, height] = [anchorX + at(0), anchorY + at(1), at(2), at(3)];
  const landmarks = Array.from(
    { length: 6 },
    (_, point) => [anchorX + at(4 + point * 2), anchorY + at(5 + point * 2)] as const,
  );
  return {
    left: x - width / 2,
    top: y - height / 2,
    right: x + width / 2,
    bottom: y + height / 2,
    landmarks,
    score,
  };
}

/** Overlapping detections of one face become their mean, weighted by score. */
function mergeOverlaps(faces: readonly Face[]): Face[] {
  const left = [...faces].sort((a, b) => b.score - a.score);
  const merged: Face[] = [];
  for (let best = left.shift(); best !== undefined; best = left.shift()) {
    const group = [best];
    for (let index = left.length - 1; index >= 0; index -= 1) {
      const other = left[index];
      if (other === undefined || overlap(best, other) < OVERLAP_THRESHOLD) continue;
      group.push(other);
      left.splice(index, 1);
    }
    merged.push(weightedMean(group, best.score));
  }
  return merged;
}

function overlap(a: Face, b: Face): number {
  const width = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  if (width <= 0 || height <= 0) return 0;
  const area = (face: Face): number => (face.right - face.left) * (face.bottom - face.top);
  return (width * height) / (area(a) + area(b) - width * height);
}

function weightedMean(group: readonly Face[], score: number): Face {
  const total = group.reduce((sum, face) => sum + face.score, 0);
  const mean = (value: (face: Face) => number): number =>
    group.reduce((sum, face) => sum + value(face) * face.score, 0) / total;
  return {
    left: mean((face) => face.left),
    top: mean((face) => face.top),
    right: mean((face) => face.right),
    bottom: mean((face) => face.bottom),
    landmarks: Array.from({ length: 6 }, (_, point) => [
      mean((face) => face.landmarks[point]?.[0] ?? 0),
      mean((face) => face.landmarks[point]?.[1] ?? 0),
    ]),
    score,
  };
}
