// Prints `N passed, N failed` over the count files that the runners left, and ends with the status of the whole.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [folder = "", status = "1"] = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  const counts = JSON.parse(readFileSync(join(folder, name), "utf8"));
  passed += counts.passed;
  failed += counts.failed;
}
// A run that broke before a runner could count is a failure too.
if (status !== "0" && failed === 0) failed = 1;
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && status === "0" ? 0 : 1;
