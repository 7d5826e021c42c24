/** Columns of the recogniser's output. */
const CLASSES = 6625;

/**
 * The label file of the text recogniser, one label for each column: CTC's blank, the characters of the dictionary in its
 * order, and the space, which the dictionary leaves out.
 */
export function recognizerLabels(dictionary: string): string {
  const labels = ["<blank>", ...dictionary.replace(/\n$/, "").split("\n"), " "];
  if (labels.length !== CLASSES) {
    throw new Error(
      `the dictionary makes ${String(labels.length)} labels where the model has ${String(CLASSES)}`,
    );
  }
  return `${labels.join("\n")}\n`;
}
