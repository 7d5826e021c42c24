/** Texts for requests, so that what is no JSON can be written down as well. */
export const RANGE = `[${Array.from({ length: 16 }, (_, index) => index).join()}]`;
export const input = (name: string, more: string): string => `{"name":"${name}",${more}}`;
export const INT32_16 = `"datatype":"INT32","shape":[1,16],"data":${RANGE}`;
export const SIMPLE_INPUTS = `${input("INPUT0", INT32_16)},${input("INPUT1", INT32_16)}`;
export const simple = (more = ""): string => `{${more}"inputs":[${SIMPLE_INPUTS}]}`;
export const SIMPLE = "/v2/models/simple/infer";

export const tensor = (shape: string, data: string, datatype = "INT32"): string =>
  `{"inputs":[${["INPUT0", "INPUT1"].map((name) => input(name, `"datatype":"${datatype}","shape":${shape},"data":${data}`)).join()}]}`;
