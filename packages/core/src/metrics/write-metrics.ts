import type { Labels, MetricFamily } from "./metric-family.ts";

/**
 * Prometheus' text format (version 0.0.4), in the forms that prometheus-cpp gives it in Triton: labels in the order of their
 * names, counts and sums before quantiles and buckets, numbers with up to 16 digits. A family without metrics is left out.
 */
export function writeMetrics(families: readonly MetricFamily[]): string {
  const lines = families.flatMap((family) => {
    if (family.metrics.length === 0) return [];
    const { name, help, kind } = family;
    return [`# HELP ${name} ${oneLine(help)}`, `# TYPE ${name} ${kind}`, ...metricLines(family)];
  });
  return lines.map((line) => `${line}\n`).join("");
}

function oneLine(help: string): string {
  return help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

function metricLines(family: MetricFamily): readonly string[] {
  const { name } = family;
  switch (family.kind) {
    case "counter":
    case "gauge":
      return family.metrics.map(({ labels, value }) => line(name, labelTexts(labels), value));
    case "histogram":
      return family.metrics.flatMap(({ labels, count, sum, buckets }) => {
        const texts = labelTexts(labels);
        return [
          line(`${name}_count`, texts, count),
          line(`${name}_sum`, texts, sum),
          ...[...buckets, { upperBound: Infinity, count }].map(({ upperBound, count: upToHere }) =>
            line(`${name}_bucket`, [...texts, labelText("le", numberText(upperBound))], upToHere),
          ),
        ];
      });
    case "summary":
      return family.metrics.flatMap(({ labels, count, sum, quantiles }) => {
        const texts = labelTexts(labels);
        return [
          line(`${name}_count`, texts, count),
          line(`${name}_sum`, texts, sum),
          ...quantiles.map(({ quantile, value }) =>
            line(name, [...texts, labelText("quantile", numberText(quantile))], value),
          ),
        ];
      });
  }
}

function line(name: string, labels: readonly string[], value: number): string {
  return `${name}${labels.length === 0 ? "" : `{${labels.join(",")}}`} ${numberText(value)}`;
}

function labelTexts(labels: Labels): readonly string[] {
  return Object.keys(labels)
    .sort()
    .map((name) => labelText(name, labels[name] ?? ""));
}

function labelText(name: string, value: string): string {
  return `${name}="${oneLine(value).replaceAll('"', '\\"')}"`;
}

/** Digits that C++'s `max_digits10 - 1` keeps of a double. */
const DIGITS = 16;

/** As C's `%.16g` prints it. */
function numberText(value: number): string {
  if (Number.isNaN(value)) return "Nan";
  if (!Number.isFinite(value)) return value < 0 ? "-Inf" : "+Inf";
  if (Number.isSafeInteger(value)) return String(value);
  const [mantissa = "", exponentText = ""] = value.toExponential(DIGITS - 1).split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < DIGITS) return withoutZeros(value.toPrecision(DIGITS));
  const sign = exponent < 0 ? "-" : "+";
  return `${withoutZeros(mantissa)}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function withoutZeros(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}
