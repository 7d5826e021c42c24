/** Dimensions as a configuration has them: -1 is any size. */
export interface DeclaredShape {
  readonly dims: readonly bigint[];
  readonly reshape: readonly bigint[] | undefined;
  readonly isBatching: boolean;
  readonly tensorName: string;
}

/** `aboutTensor`: the text continues "model input 'x'"; otherwise it stands alone. */
export interface ShapeFault {
  readonly text: string;
  readonly aboutTensor: boolean;
}

const ANY = -1n;
const MAX_COUNT = 2n ** 63n - 1n;

/** What is wrong with `dims` and `reshape` of an input or output, in Triton's order. */
export function describeShapeFault(shape: DeclaredShape): ShapeFault | undefined {
  const { dims, reshape, isBatching, tensorName } = shape;
  if (reshape?.length === 0 && !isBatching) {
    return about("cannot have empty reshape for non-batching model as scalar tensors are not supported");
  }
  const rule = "must be integer >= 1, or -1 to indicate a variable-size dimension";
  if (!dims.every(isDimension)) return about(`dimension ${rule}`);
  if (reshape === undefined) return undefined;
  if (!reshape.every(isDimension)) return about(`reshape dimensions ${rule}`);
  for (const [list, what] of [
    [dims, "dims"],
    [reshape, "reshape"],
  ] as const) {
    if (elementCount(list) !== ANY && elementCount(list) > MAX_COUNT) {
      return {
        text: `element count for tensor '${tensorName} ${what}' exceeds maximum size of ${MAX_COUNT}`,
        aboutTensor: false,
      };
    }
  }
  return describeReshapeFault(dims, reshape);
}

function describeReshapeFault(dims: readonly bigint[], reshape: readonly bigint[]): ShapeFault | undefined {
  const differentSize = about("has different size for dims and reshape");
  // An empty reshape is a scalar and has one element.
  if (elementCount(dims) !== elementCount(reshape)) return differentSize;
  if (!dims.includes(ANY)) return undefined;
  const dimsCounts = countsBetweenWildcards(dims);
  const reshapeCounts = countsBetweenWildcards(reshape);
  if (dimsCounts.length !== reshapeCounts.length) {
    return about("has different number of variable-size dimensions for dims and reshape");
  }
  return dimsCounts.every((count, index) => count === reshapeCounts[index]) ? undefined : differentSize;
}

function about(text: string): ShapeFault {
  return { text, aboutTensor: true };
}

function isDimension(dim: bigint): boolean {
  return dim >= 1n || dim === ANY;
}

function elementCount(dims: readonly bigint[]): bigint {
  return dims.includes(ANY) ? ANY : product(dims);
}

/** `[2, 4, -1, 6]` -> `[8, 6]`: only these products must agree between dims and reshape. */
function countsBetweenWildcards(dims: readonly bigint[]): readonly bigint[] {
  const counts: bigint[] = [];
  let start = 0;
  for (let at = 0; at <= dims.length; at += 1) {
    if (at < dims.length && dims[at] !== ANY) continue;
    counts.push(product(dims.slice(start, at)));
    start = at + 1;
  }
  return counts;
}

function product(dims: readonly bigint[]): bigint {
  return dims.reduce((count, dim) => count * dim, 1n);
}
