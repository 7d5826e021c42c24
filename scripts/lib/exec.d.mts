export declare const ROOT: string;
export interface RunOptions {
  readonly cwd?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdio?: "inherit" | "ignore";
  readonly shell?: boolean;
}
export declare function run(program: string, args: readonly string[], options?: RunOptions): Promise<void>;
export declare function runTsx(script: string, args: readonly string[]): Promise<void>;
