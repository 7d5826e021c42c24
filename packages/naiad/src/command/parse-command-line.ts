import { parseArgs, type ParseArgsConfig } from "node:util";
import { nearestName } from "@naiad/protocol";
import { UsageError } from "./command-io.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;
type Parsed<Given extends Options> = ReturnType<
  typeof parseArgs<{ args: string[]; allowPositionals: true; options: Given }>
>;

/** Node's own reading of a command line; throws a `UsageError` for what is not in `options`. */
export function parseCommandLine<Given extends Options>(
  argv: readonly string[],
  options: Given,
): Parsed<Given> {
  try {
    return parseArgs({ args: [...argv], allowPositionals: true, options });
  } catch (error) {
    // Node's texts name the option and its right use, on several lines at times.
    const message = error instanceof Error ? error.message : String(error);
    const [, unknown = ""] = /^Unknown option '--?([^']*)'/.exec(message) ?? [];
    const near = nearestName(unknown, Object.keys(options));
    const hint = near === undefined ? "" : `; did you mean '--${near}'?`;
    throw new UsageError((message.split(/[.\n]/)[0] ?? message) + hint, { cause: error });
  }
}
