import type { Page } from "./fixtures.ts";
import type { Answer, JsonTensor } from "./requests.ts";
import { parsed } from "./requests.ts";

interface BinaryTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly number[];
  readonly bytes: Uint8Array;
}

/** One plain fetch by the page: the tensor's bytes stand behind the JSON, and the answer is JSON. */
export async function inferBytes(
  page: Page,
  model: string,
  { bytes, ...input }: BinaryTensor,
  parameters: Readonly<Record<string, string | boolean>> = {},
): Promise<Answer> {
  const inputs = [{ ...input, parameters: { binary_data_size: bytes.length } }];
  const head = JSON.stringify({ inputs, parameters });
  return await page.evaluate(
    async ([path, json, content]) => {
      const tensor = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0));
      const response = await fetch(path, {
        method: "POST",
        headers: { "Inference-Header-Content-Length": String(new TextEncoder().encode(json).length) },
        body: new Blob([json, tensor]),
      });
      return {
        status: response.status,
        body: await response.text(),
        marked: response.headers.has("x-naiad"),
      };
    },
    [`/v2/models/${model}/infer`, head, Buffer.from(bytes).toString("base64")] as const,
  );
}

export const uint8 = (name: string, shape: readonly number[], bytes: Uint8Array): BinaryTensor => ({
  name,
  datatype: "UINT8",
  shape,
  bytes,
});

/** The output of that name. */
export function output(answer: Answer, name: string): JsonTensor {
  const tensor = parsed(answer).outputs.find((each) => each.name === name);
  if (tensor === undefined) throw new Error(`no ${name} in ${answer.body}`);
  return tensor;
}
