import type { HeaderList } from "@naiad/protocol";

/** What a method knows of the call beside its message. The context of `@connectrpc/connect` is one. */
export interface CallContext {
  readonly requestHeader: CallHeaders;
  /** Fires when the client has gone or the call's deadline has passed, with the reason. */
  readonly signal: AbortSignal;
}

/** What methods read of `Headers`. Names are in lower case; values of one name are joined. */
export interface CallHeaders extends Iterable<[string, string]> {
  get(name: string): string | null;
}

/** Making `Headers` costs more than the rest of a small call, and most calls have none of theirs read. */
export function callHeaders(list: HeaderList): CallHeaders {
  const valuesOf = (name: string): readonly string[] =>
    list.filter(([key]) => key === name).map(([, value]) => value);
  return {
    get(name) {
      const values = valuesOf(name);
      return values.length === 0 ? null : values.join(", ");
    },
    *[Symbol.iterator]() {
      for (const name of new Set(list.map(([key]) => key))) {
        if (!name.startsWith(":")) yield [name, valuesOf(name).join(", ")];
      }
    },
  };
}
