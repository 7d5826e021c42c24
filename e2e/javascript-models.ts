import { fixtureFile } from "./own-models.ts";

const io = (datatype = "TYPE_FP32"): string => `
  input { name: "X" data_type: ${datatype} dims: [ -1 ] }
  output { name: "Y" data_type: ${datatype} dims: [ -1 ] }`;

/** Y = X times what a module beside it says, plus what a data file says. */
const AFFINE = `
  import { factor } from "./lib/factor.js";
  const { Tensor, InferenceResponse } = triton;
  export default class {
    async initialize({ files }) {
      this.offset = (await files.readJson("offset.json")).offset;
    }
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        const y = x.data.map((value) => value * factor + this.offset);
        return new InferenceResponse({ outputTensors: [new Tensor("Y", y, x.shape)] });
      });
    }
  }`;

/** Both modules name each other, which only addresses of a server allow. */
const FACTOR = `
  import { ten } from "../ten.js";
  export const factor = ten();`;
const TEN = `
  import * as back from "./lib/factor.js";
  export function ten() { return 10; }
  export { back };`;

/** The sums and differences of the ONNX model \`simple\`, asked for at once. */
const ASKING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    initialize({ infer }) { this.infer = infer; }
    async execute(requests) {
      return Promise.all(requests.map(async (request) => {
        const x = request.input("X");
        const ones = new Tensor("INPUT1", new Int32Array(16).fill(1), [1, 16]);
        const inputs = [new Tensor("INPUT0", x.data, x.shape), ones];
        const [sum, gone] = await Promise.all([
          this.infer({ modelName: "simple", inputs, requestedOutputNames: ["OUTPUT0"] }),
          this.infer({ modelName: "gone", inputs }),
        ]);
        if (!gone.hasError) throw new Error("there is no such model");
        return new InferenceResponse({
          outputTensors: [new Tensor("Y", sum.output("OUTPUT0").data, x.shape)],
        });
      }));
    }
  }`;

const LOOPING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        while (x.data[0] < 0) { /* for ever */ }
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

/** Answers, and leaves behind what nobody catches. */
const CARELESS = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    execute(requests) {
      setTimeout(() => { throw new RangeError("forgotten"); });
      void Promise.reject(new Error("left alone"));
      return requests.map((request) => {
        const x = request.input("X");
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

const COMPLETING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    static autoCompleteConfig(config) {
      config.setMaxBatchSize(4);
      config.addInput({ name: "X", data_type: "TYPE_FP32", dims: [-1] });
      config.addOutput({ name: "Y", data_type: "TYPE_FP32", dims: [-1] });
      return config;
    }
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

/** Ends its own worker, unless X is positive. */
const CRASHING = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    async execute(requests) {
      const [x] = requests.map((request) => request.input("X"));
      if (x.data[0] < 0) {
        self.close();
        await new Promise(() => {});
      }
      return requests.map(() => new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] }));
    }
  }`;

/** Thinks for ever about whether it is ready. */
const UNDECIDED = `
  const { Tensor, InferenceResponse } = triton;
  export default class {
    isReady() { for (;;); }
    execute(requests) {
      return requests.map((request) => {
        const x = request.input("X");
        return new InferenceResponse({ outputTensors: [new Tensor("Y", x.data, x.shape)] });
      });
    }
  }`;

const EMPTY = "export default class { execute() {} }";

interface Broken {
  /** Below the model's version. */
  readonly files: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Models whose modules do not load, and what is said of them. */
export const BROKEN: Readonly<Record<string, Broken>> = {
  syntax: {
    files: { "model.js": "export default class {\n  execute() {\n    const a = ;\n  }\n}" },
    text: "1/model.js:3:15: SyntaxError: Unexpected token ';'",
  },
  syntax_beside: {
    files: { "model.js": `import "./lib/dep.js";\n${EMPTY}`, "lib/dep.js": "let a;\n  let b = {;" },
    text: "1/lib/dep.js:2:12: SyntaxError: Unexpected token ';'",
  },
  missing: {
    files: { "model.js": `import "./dep.js";\n${EMPTY}`, "dep.js": '\nimport "./gone.js";' },
    text: "1/dep.js:2:8 imports './gone.js', and the model has no such file",
  },
  bare: {
    files: { "model.js": `import _ from "lodash";\n${EMPTY}` },
    text: "1/model.js:1:15 imports 'lodash', which is no file of the model",
  },
  no_export: {
    files: { "model.js": `import { b } from "./dep.js";\n${EMPTY}`, "dep.js": "export const a = 1;" },
    text: "1/model.js:1:10: SyntaxError: The requested module",
  },
  thrown: {
    files: { "model.js": `import "./dep.js";\n${EMPTY}`, "dep.js": "\nnothing();" },
    text: "ReferenceError: nothing is not defined\n\nAt:\n  1/dep.js(2): <module>\n",
  },
};

const brokenFiles = Object.fromEntries(
  Object.entries(BROKEN).flatMap(([model, { files }]) => [
    [`${model}/config.pbtxt`, `backend: "javascript" ${io()}`],
    ...Object.entries(files).map(([path, text]) => [`${model}/1/${path}`, text]),
  ]),
) as Readonly<Record<string, string>>;

const WRONG = `export default class { execute() { return "nothing"; } }`;

const config = (more = ""): string => `backend: "javascript" max_batch_size: 8 ${more}`;

/** A repository of models in JavaScript, good and bad, and of the ONNX model that one of them asks. */
export async function javaScriptModelFiles(): Promise<Readonly<Record<string, string | Uint8Array>>> {
  const simple = (path: string): Promise<Uint8Array> => fixtureFile(`simple/${path}`);
  return {
    "affine/config.pbtxt": config(io()),
    "affine/1/model.js": AFFINE,
    "affine/1/lib/factor.js": FACTOR,
    "affine/1/ten.js": "export const ten = () => 10;",
    "affine/offset.json": '{ "offset": 3 }',
    "circle/config.pbtxt": config(io()),
    "circle/1/model.js": AFFINE,
    "circle/1/lib/factor.js": FACTOR,
    "circle/1/ten.js": TEN,
    "circle/offset.json": '{ "offset": 0 }',
    "asking/config.pbtxt": config(io("TYPE_INT32")),
    "asking/1/model.js": ASKING,
    "looping/config.pbtxt": config(
      `${io()} parameters { key: "watchdog_run_ms" value { string_value: "700" } }`,
    ),
    "looping/1/model.js": LOOPING,
    "crashing/config.pbtxt": config(io()),
    "crashing/1/model.js": CRASHING,
    "undecided/config.pbtxt": config(io()),
    "undecided/1/model.js": UNDECIDED,
    ...brokenFiles,
    "wrong/config.pbtxt": config(io()),
    "wrong/1/model.js": WRONG,
    "careless/config.pbtxt": config(io()),
    "careless/1/model.js": CARELESS,
    "completing/1/model.js": COMPLETING,
    "simple/config.pbtxt": await simple("config.pbtxt"),
    "simple/1/model.onnx": await simple("1/model.onnx"),
  };
}
