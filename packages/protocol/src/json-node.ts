/**
 * Exact JSON: what the text says, including what JavaScript's numbers forget. Integer literals are numbers up to 2^53
 * and bigints beyond; a floating-point literal with an integral value (`1.0`) is a `JsonFloat`, because Triton takes it
 * for no integer. Of two members with one name the first counts, as with rapidjson.
 */
export type JsonNode =
  | null
  | boolean
  | number
  | bigint
  | string
  | JsonFloat
  | NumberArray
  | readonly JsonNode[]
  | ReadonlyMap<string, JsonNode>;

/** A floating-point literal whose value is integral, or an integer literal beyond 64 bits. */
export class JsonFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

export type NestedNumbers = readonly (number | NestedNumbers)[];

export interface NumberArrayContent {
  readonly values: NestedNumbers;
  /** Numbers at all depths together. */
  readonly count: number;
  /** No array inside. */
  readonly isFlat: boolean;
  readonly hasNegative: boolean;
  /** `integers`: every literal was one, and below 2^53. `mixed`: at least one literal was floating-point. */
  readonly literals: "integers" | "mixed";
  /** Reads the array once more, node by node, for whoever must know which literal was of which kind. */
  readonly exact: () => readonly JsonNode[];
}

/** A long array of nothing but numbers, nested or flat, read by the engine's own parser. */
export class NumberArray {
  readonly content: NumberArrayContent;

  constructor(content: NumberArrayContent) {
    this.content = content;
  }
}
