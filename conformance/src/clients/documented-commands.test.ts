import { expect, it } from "vitest";
import { documentedCommands } from "./documented-commands.ts";

const PAGE = `
\`\`\`sh
npx naiad serve
curl localhost:8000/v2/health/ready -i
curl localhost:8000/v2/models/m/infer -d '{
  "inputs": []
}'
curl localhost \\
  -i
\`\`\`

\`\`\`js
curl here is code
\`\`\`

\`\`\`sh
perf_analyzer -m m
\`\`\`
`;

it("reads the commands of shell blocks, over as many lines as each has", () => {
  expect(documentedCommands(PAGE, "curl")).toEqual([
    "curl localhost:8000/v2/health/ready -i",
    `curl localhost:8000/v2/models/m/infer -d '{\n  "inputs": []\n}'`,
    "curl localhost \\\n  -i",
  ]);
  expect(documentedCommands(PAGE, "perf_analyzer")).toEqual(["perf_analyzer -m m"]);
  expect(documentedCommands(PAGE, "docker")).toEqual([]);
});
