import { readFile, stat } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { BrowserProfile } from "./launch-browser.ts";
import { createBrowserProfile } from "./launch-browser.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A program of our own in place of the browser; it is given the same arguments and pipes. */
async function profileOf(program: string, path = process.execPath) {
  const output: string[] = [];
  const profile: BrowserProfile = await createBrowserProfile({
    path,
    arguments: ["-e", program, "--"],
    onOutput: (line) => output.push(line),
  });
  ends.push(() => profile.remove());
  return { profile, output };
}

const ECHO_ARGUMENTS = "console.error(process.argv.slice(1).join('\\n'))";
const ENDS_WITH_ITS_PIPE =
  "require('fs').createReadStream('', { fd: 3 }).on('close', () => process.exit()).resume()";
const IGNORES_EVERYTHING = "console.error('up'); setInterval(() => undefined, 1000)";

describe("a browser's process", () => {
  it("gets the address from a file of its profile that only its user can read", async () => {
    const { output, profile } = await profileOf(ECHO_ARGUMENTS);
    const url = "http://127.0.0.1:1/secret</script>/";
    await (
      await profile.open(url)
    ).exited;
    const [data = "", page = ""] = output;
    const directory = data.replace("--user-data-dir=", "");
    expect(output.join("\n")).not.toContain("secret");
    const file = new URL(page);
    expect(file.pathname).toBe(`${directory}/start.html`);
    const text = await readFile(file, "utf8");
    expect(text).toContain('location.replace("http://127.0.0.1:1/secret\\u003c/script>/")');
    expect((await stat(file)).mode & 0o077).toBe(0);
    await profile.remove();
    await expect(stat(directory)).rejects.toThrow("ENOENT");
  });

  it("is asked to end by its pipe, so that it ends with the command too", async () => {
    const { profile } = await profileOf(ENDS_WITH_ITS_PIPE);
    const browser = await profile.open("about:blank");
    await Promise.all([browser.close(), browser.close()]);
    expect(await browser.exited).toBe("the browser ended with code 0");
  });

  it("is killed where it hangs", async () => {
    const { output, profile } = await profileOf(IGNORES_EVERYTHING);
    const browser = await profile.open("about:blank");
    await expect.poll(() => output).toEqual(["up"]);
    browser.kill();
    expect(await browser.exited).toBe("the browser ended by signal SIGKILL: up");
  });

  it("tells its last words, and what to do where its sandbox does not work", async () => {
    const { profile } = await profileOf("console.error('No usable sandbox!'); process.exit(3)");
    expect(await (await profile.open("about:blank")).exited).toBe(
      "the browser ended with code 3: No usable sandbox!; its sandbox does not work here: allow user namespaces, or pass " +
        "--no-sandbox where every model is trusted",
    );
  });

  it("says that there is no such program", async () => {
    const { profile } = await profileOf("", "/nonexistent/chrome");
    const browser = await profile.open("about:blank");
    expect(await browser.exited).toContain(
      "'/nonexistent/chrome' does not start: spawn /nonexistent/chrome ENOENT",
    );
    browser.kill();
    await browser.close();
  });
});
