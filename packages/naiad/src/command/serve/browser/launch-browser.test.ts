import { once } from "node:events";
import { readFile, stat } from "node:fs/promises";
import type { AddressInfo, Socket } from "node:net";
import { createServer } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { BrowserProfile } from "./launch-browser.ts";
import { createBrowserProfile } from "./launch-browser.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  vi.unstubAllEnvs();
});

/** A program of our own in place of the browser; it is given the same arguments and pipes. */
async function profileOf(program: string, path = process.execPath) {
  const output: string[] = [];
  let heard: () => void = () => undefined;
  const spoken = new Promise<void>((resolve) => {
    heard = resolve;
  });
  const profile: BrowserProfile = await createBrowserProfile({
    path,
    arguments: ["-e", program, "--"],
    onOutput: (line) => {
      output.push(line);
      heard();
    },
  });
  ends.push(() => profile.remove());
  return { profile, output, spoken };
}

const ECHO_ARGUMENTS = "console.error(process.argv.slice(1).join('\\n'))";
const ENDS_WITH_ITS_PIPE =
  "require('fs').createReadStream('', { fd: 3 }).on('close', () => process.exit()).resume()";
const IGNORES_EVERYTHING = "console.error('up'); setInterval(() => undefined, 1000)";

/** Which holds the pipes of the first, and tells the number of that. */
const startsAnother = (port: number): string => {
  const other = `require("net").connect(${String(port)}, "127.0.0.1").write(String(process.ppid)); setInterval(() => 0, 1000)`;
  return `require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(other)}], { stdio: "inherit" })`;
};

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
    const { profile, spoken } = await profileOf(IGNORES_EVERYTHING);
    const browser = await profile.open("about:blank");
    await spoken;
    browser.kill();
    expect(await browser.exited).toBe("the browser ended by signal SIGKILL: up");
  });

  it("takes along what it started, be it killed or gone by itself", async () => {
    for (const end of ["browser", "itself"] as const) {
      const connections = createServer();
      connections.listen(0, "127.0.0.1");
      await once(connections, "listening");
      ends.push(async () => {
        connections.close();
        await once(connections, "close");
      });
      const { port } = connections.address() as AddressInfo;
      const { profile } = await profileOf(startsAnother(port));
      const browser = await profile.open("about:blank");
      // It says which process it is, and never ends its connection by itself.
      const [socket] = (await once(connections, "connection")) as [Socket];
      const [first] = (await once(socket, "data")) as [Buffer];
      const closed = once(
        socket.on("error", () => undefined),
        "close",
      );
      if (end === "browser") browser.kill();
      else process.kill(Number(String(first)), "SIGKILL");
      expect(await browser.exited).toContain("the browser ended by signal SIGKILL");
      await closed;
    }
  });

  it("has its temporary files in the profile", async () => {
    vi.stubEnv("TMPDIR", "/tmp");
    const { output, profile, spoken } = await profileOf("console.error(require('os').tmpdir())");
    const browser = await profile.open("about:blank");
    await spoken;
    await browser.exited;
    const [directory = ""] = output;
    expect(directory).toMatch(/^\/tmp\/naiad-browser-\w+\/tmp$/);
    await profile.remove();
    await expect(stat(directory)).rejects.toThrow("ENOENT");
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
