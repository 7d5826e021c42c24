import type { InferOutput, InferResult } from "@naiad/client";
import type { Difference } from "./compare-json.ts";

/** Outputs by name: datatype, shape, and content. Floats may differ by the tolerance, absolutely or of the larger one. */
export function compareOutputs(
  path: string,
  one: InferResult,
  other: InferResult,
  tolerance: number,
): readonly Difference[] {
  const names = [...new Set([...Object.keys(one.outputs), ...Object.keys(other.outputs)])];
  return names.flatMap((name) => {
    const at = `${path}.${name}`;
    const [left, right] = [one.outputs[name], other.outputs[name]];
    if (left === undefined || right === undefined) {
      return [{ path: at, one: left && headOf(left), other: right && headOf(right) }];
    }
    if (headOf(left) !== headOf(right)) return [{ path: at, one: headOf(left), other: headOf(right) }];
    return compareContent(at, left, right, tolerance);
  });
}

function headOf({ datatype, shape }: InferOutput): string {
  return `${datatype}[${shape.join(",")}]`;
}

type Element = string | number | bigint;

/** The elements that differ most, and how many do. */
function compareContent(
  path: string,
  left: InferOutput,
  right: InferOutput,
  tolerance: number,
): readonly Difference[] {
  const others: ArrayLike<Element> = right.data;
  const allowed = /^(FP|BF)/.test(left.datatype) ? tolerance : 0;
  let count = 0;
  let worst: { readonly index: number; readonly distance: number } | undefined;
  for (const [index, element] of Array.from<Element>(left.data).entries()) {
    const distance = distanceOf(element, others[index] ?? Number.NaN, allowed);
    if (distance === 0) continue;
    count += 1;
    if (worst === undefined || distance > worst.distance) worst = { index, distance };
  }
  if (worst === undefined) return [];
  const at = `${path}[${worst.index}]${count === 1 ? "" : `, and ${count - 1} more`}`;
  return [{ path: at, one: String(left.data[worst.index]), other: String(right.data[worst.index]) }];
}

/** 0 where the elements count as equal. */
function distanceOf(one: Element, other: Element, tolerance: number): number {
  if (one === other || (Number.isNaN(one) && Number.isNaN(other))) return 0;
  if (typeof one !== "number" || typeof other !== "number") return 1;
  const distance = Math.abs(one - other);
  if (Number.isNaN(distance)) return Infinity;
  return distance <= tolerance * Math.max(1, Math.abs(one), Math.abs(other)) ? 0 : distance;
}
