import type { OracleRequest } from "../oracle-request.ts";
import { post } from "./ask.ts";
import { INT32_16, RANGE, SIMPLE, simple } from "./simple-request.ts";

/** What stands where an object, an array, a text ... is expected. */
const ODD_VALUES = ["null", "1", '"x"', "true", "[]", "{}", "1.5", "-1"];

export const JSON_FAULTS: readonly OracleRequest[] = [
  ...[
    "",
    " ",
    "{",
    "}",
    "[",
    "nul",
    "{}",
    "[]",
    "1",
    '"x"',
    "null",
    "{]",
    '{"inputs"}',
    '{"inputs":}',
    "{'inputs':[]}",
  ],
  ...[
    `${simple()} `,
    `${simple()}x`,
    `${simple()}{}`,
    `\ufeff${simple()}`,
    `/* c */${simple()}`,
    '{"inputs":[],}',
    '{"inputs":[1,]}',
  ],
  ...ODD_VALUES.map((value) => `{"inputs":${value}}`),
  ...ODD_VALUES.map((value) => `{"inputs":[${value}]}`),
  ...ODD_VALUES.map((value) => simple(`"id":${value},`)),
  ...ODD_VALUES.map((value) => simple(`"parameters":${value},`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":${value},`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":[${value}],`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":[{"name":${value}}],`)),
  ...ODD_VALUES.map((value) => simple(`"outputs":[{"name":"OUTPUT0","parameters":${value}}],`)),
  ...ODD_VALUES.map((value) => `{"inputs":[{"name":${value},${INT32_16}}]}`),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":${value},"shape":[1,16],"data":${RANGE}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":${value},"data":${RANGE}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,${value}],"data":${RANGE}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16],"data":${value}}]}`,
  ),
  ...ODD_VALUES.map(
    (value) => `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,1],"data":[${value}]}]}`,
  ),
  ...ODD_VALUES.map((value) => `{"inputs":[{"name":"INPUT0",${INT32_16},"parameters":${value}}]}`),
  `{"inputs":[{"name":"INPUT0"}]}`,
  `{"inputs":[{"datatype":"INT32"}]}`,
  `{"inputs":[{"name":"INPUT0","datatype":"INT32"}]}`,
  `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,16]}]}`,
].map((body) => post(SIMPLE, body));
