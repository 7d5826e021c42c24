/** Stands for a name that a pickle imports. */
export interface Imported {
  readonly imported: string;
}

/** What a pickle may ask for beyond plain values. Both throw for what they do not know. */
export interface PickleHooks {
  /** The object that the pickle calls by an id of its own. */
  readonly persistent: (id: unknown) => unknown;
  /** What calling something imported with these arguments gives. */
  readonly call: (callee: unknown, values: readonly unknown[]) => unknown;
}

const MARK = Symbol("mark");

/**
 * Reads one pickle after the other from the same bytes. A pickle is a program; this reader knows the few instructions of plain data
 * in protocol 2, builds maps, lists and plain values from them, and refuses everything else. Tuples are lists.
 */
export class PickleReader {
  readonly #bytes: Uint8Array;
  readonly #hooks: PickleHooks;
  readonly #view: DataView;
  #offset = 0;
  #stack: unknown[] = [];
  #memo: unknown[] = [];

  constructor(bytes: Uint8Array, hooks: PickleHooks) {
    this.#bytes = bytes;
    this.#hooks = hooks;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Where the next pickle, or what follows the last one, starts. */
  get offset(): number {
    return this.#offset;
  }

  read(): unknown {
    this.#stack = [];
    this.#memo = [];
    for (;;) {
      const opcode = String.fromCharCode(this.#byte());
      if (opcode === ".") return this.#stack.pop();
      this.#carryOut(opcode);
    }
  }

  #carryOut(opcode: string): void {
    const stack = this.#stack;
    switch (opcode) {
      case "\x80": // PROTO
        this.#byte();
        return;
      case "(": // MARK
        stack.push(MARK);
        return;
      case "N": // NONE
        stack.push(null);
        return;
      case "\x88": // NEWTRUE
      case "\x89": // NEWFALSE
        stack.push(opcode === "\x88");
        return;
      case "K": // BININT1
        stack.push(this.#byte());
        return;
      case "M": // BININT2
        stack.push(this.#view.getUint16(this.#advance(2), true));
        return;
      case "J": // BININT
        stack.push(this.#view.getInt32(this.#advance(4), true));
        return;
      case "\x8a": // LONG1
        stack.push(this.#text(this.#byte()));
        return;
      case "X": // BINUNICODE
        stack.push(this.#text(this.#view.getUint32(this.#advance(4), true)));
        return;
      case "c": // GLOBAL
        stack.push({ imported: `${this.#line()}.${this.#line()}` } satisfies Imported);
        return;
      case "q": // BINPUT
        this.#memo[this.#byte()] = stack.at(-1);
        return;
      case "r": // LONG_BINPUT
        this.#memo[this.#view.getUint32(this.#advance(4), true)] = stack.at(-1);
        return;
      case "h": // BINGET
        stack.push(this.#memo[this.#byte()]);
        return;
      case "j": // LONG_BINGET
        stack.push(this.#memo[this.#view.getUint32(this.#advance(4), true)]);
        return;
      case ")": // EMPTY_TUPLE
      case "]": // EMPTY_LIST
        stack.push([]);
        return;
      case "}": // EMPTY_DICT
        stack.push(new Map());
        return;
      case "\x85": // TUPLE1
      case "\x86": // TUPLE2
      case "\x87": // TUPLE3
        stack.push(stack.splice(-(opcode.charCodeAt(0) - 0x84)));
        return;
      case "t": // TUPLE
        stack.push(this.#toMark());
        return;
      case "e": // APPENDS
        this.#append(this.#toMark());
        return;
      case "s": // SETITEM
        this.#setItems(stack.splice(-2));
        return;
      case "u": // SETITEMS
        this.#setItems(this.#toMark());
        return;
      case "Q": // BINPERSID
        stack.push(this.#hooks.persistent(stack.pop()));
        return;
      case "R": {
        // REDUCE
        const [callee, values] = stack.splice(-2);
        stack.push(this.#hooks.call(callee, listOf(values)));
        return;
      }
      case "b": // BUILD: attributes of the dictionary, of no use here
        stack.pop();
        return;
      default:
        throw new Error(`instruction ${JSON.stringify(opcode)} of the pickle is not supported`);
    }
  }

  #toMark(): unknown[] {
    const mark = this.#stack.lastIndexOf(MARK);
    const [, ...values] = this.#stack.splice(mark);
    return values;
  }

  #append(values: readonly unknown[]): void {
    const list = this.#stack.at(-1);
    if (!Array.isArray(list)) throw new Error("the pickle appends to what is no list");
    list.push(...values);
  }

  #setItems(entries: readonly unknown[]): void {
    const target = this.#stack.at(-1);
    if (!(target instanceof Map)) throw new Error("the pickle sets items of what is no dictionary");
    for (let index = 0; index < entries.length; index += 2) target.set(entries[index], entries[index + 1]);
  }

  #byte(): number {
    return this.#view.getUint8(this.#advance(1));
  }

  #advance(count: number): number {
    const start = this.#offset;
    this.#offset += count;
    return start;
  }

  #text(length: number): string {
    const start = this.#advance(length);
    return new TextDecoder().decode(this.#bytes.subarray(start, start + length));
  }

  #line(): string {
    const end = this.#bytes.indexOf(10, this.#offset);
    const text = this.#text(end - this.#offset);
    this.#advance(1);
    return text;
  }
}

export function isImported(value: unknown): value is Imported {
  return typeof value === "object" && value !== null && "imported" in value;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
