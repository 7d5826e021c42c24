import type { BytesTensor } from "@naiad/protocol";
import { decodeStringElements, isFixedDatatype, widenedElements } from "@naiad/protocol";

/** Of a larger tensor only the first so many elements are written: a text takes many times the bytes of its tensor. */
const MAX_ELEMENTS = 2 ** 20;
/** The same of texts. */
const MAX_TEXT_BYTES = 2 ** 22;

/**
 * The elements as Triton's trace file has them, with commas between: floats with six digits, texts in quotation marks. Empty
 * for content that cannot be read. (Triton leaves FP16 and BF16 out and writes 8-bit integers as characters.)
 */
export function tensorText({ name, datatype, bytes }: BytesTensor): string {
  if (!isFixedDatatype(datatype)) return stringsText(bytes, name);
  const elements = widenedElements(datatype, bytes);
  const isFloat = elements instanceof Float32Array || elements instanceof Float64Array;
  const shown = elements.length > MAX_ELEMENTS ? elements.subarray(0, MAX_ELEMENTS) : elements;
  return isFloat ? [...shown].map((value) => floatText(Number(value))).join(",") : shown.join(",");
}

function stringsText(bytes: Uint8Array, name: string): string {
  try {
    return decodeStringElements(firstTexts(bytes), name)
      .slice(0, MAX_ELEMENTS)
      .map((text) => `"${text}"`)
      .join(",");
  } catch {
    return "";
  }
}

/** Those that have room. */
function firstTexts(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MAX_TEXT_BYTES) return bytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, MAX_TEXT_BYTES);
  let end = 0;
  while (end + 4 <= MAX_TEXT_BYTES) {
    const next = end + 4 + view.getUint32(end, true);
    if (next > MAX_TEXT_BYTES) break;
    end = next;
  }
  return bytes.subarray(0, end);
}

/** As C++ writes a float: six significant digits without zeros at the end, with an exponent where that is shorter. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0" : "0";
  // In this range JavaScript writes no exponent either, in half the time.
  const size = Math.abs(value);
  if (size >= 1e-4 && size < 999_999.5) return String(Number(value.toPrecision(6)));
  const [mantissa = "", power = ""] = value.toExponential(5).split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return withoutZeros(value.toFixed(5 - exponent));
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  return `${withoutZeros(mantissa)}e${exponent < 0 ? "-" : "+"}${digits}`;
}

function withoutZeros(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}
