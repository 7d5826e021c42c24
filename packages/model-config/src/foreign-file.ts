/** What is found in the place of an ONNX file, by how it begins, and what to do. */
const KINDS: readonly { readonly begins: RegExp; readonly text: string }[] = [
  {
    begins: /^version https:\/\/git-lfs/,
    text: "a Git LFS pointer; get the file itself with 'git lfs pull'",
  },
  { begins: /^\/annex\/objects\//, text: "a git-annex pointer; get the file itself with 'git annex get'" },
  {
    begins: /^\s*<(!doctype\s+html|html|head|body)/i,
    text: "an HTML page, which many hosts send for what they do not have",
  },
  { begins: /^\s*<(\?xml|[a-z]+[\s>])/i, text: "an XML document, such as a storage service's error" },
  { begins: /^\s*[{[]\s*["{[]/, text: "a JSON document" },
  {
    begins: /^PK\x03\x04/,
    text: "a ZIP archive; unpack it, or export the PyTorch model in it with torch.onnx.export",
  },
  { begins: /^\x1f\x8b/, text: "a gzip file; unpack it" },
  { begins: /^.{4}TFL3/s, text: "a TensorFlow Lite model; convert it with tf2onnx" },
  { begins: /^\x89HDF\r\n/, text: "an HDF5 file; convert the Keras model in it with tf2onnx" },
  { begins: /^.{4}ORTM/s, text: "a model in ORT format; only ONNX files are read" },
];

/** How many bytes of a file `foreignFile` needs. */
export const HEAD_SIZE = 64;

/** What a file really is that cannot be read as ONNX, by its first bytes; `undefined` for what nobody knows. */
export function foreignFile(head: Uint8Array): string | undefined {
  if (head.byteLength === 0) return "empty";
  const text = String.fromCharCode(...head.subarray(0, HEAD_SIZE));
  return KINDS.find(({ begins }) => begins.test(text))?.text;
}
