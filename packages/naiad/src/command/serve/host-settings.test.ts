import { describe, expect, it } from "vitest";
import { UsageError } from "../command-io.ts";
import { hostSettings, lifeSettings } from "./host-settings.ts";
import { readServeOptions } from "./options/serve-options.ts";

const PLACE = {
  repositoryUrls: ["http://127.0.0.1:1/secret/models/0/"],
  repositoryNames: ["/srv/models"],
  url: "http://127.0.0.1:1/secret/",
};

function settingsOf(...argv: string[]) {
  const options = readServeOptions(["--model-repository=/srv/models", ...argv]);
  if (options === "help") throw new Error("help was not asked for");
  return hostSettings(options, PLACE);
}

describe("what a host of naiad serve starts with", () => {
  it("calls repositories by their directories, since their addresses are secret", () => {
    expect(settingsOf().server.modelRepositories).toEqual([
      { url: "http://127.0.0.1:1/secret/models/0/", shownAs: "/srv/models" },
    ]);
  });

  it("waits at its end for longer than the command, which tells of it and ends it", () => {
    expect(settingsOf("--exit-timeout-secs=5").server.exitTimeoutSecs).toBeGreaterThan(5);
  });

  it.each([
    ["--repository-poll-secs=0", "--repository-poll-secs must be a whole number of at least 1, but it is 0"],
    ["--http-header-forward-pattern=(", "--http-header-forward-pattern is no regular expression: "],
  ])("refuses %s in the words of the command line", (flag, text) => {
    expect(() => settingsOf(flag)).toThrow(UsageError);
    expect(() => settingsOf(flag)).toThrow(text);
  });

  it("names the flags that exclude each other", () => {
    expect(() => settingsOf("--response-cache-byte-size=100", "--cache-config=local,size=100")).toThrow(
      "Incompatible options --response-cache-byte-size and --cache-config both provided.",
    );
  });

  it("does not end a server that was started anew over one model", () => {
    const { server } = settingsOf();
    expect(lifeSettings(server, undefined).exitOnError).toBe(true);
    expect(lifeSettings(server, "the last host").exitOnError).toBe(false);
  });
});
