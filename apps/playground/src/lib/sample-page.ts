const LINES = [
  { text: "Hello Triton 2026", size: 64, at: [60, 90] },
  { text: "Ensembles, models in JavaScript and", size: 36, at: [60, 200] },
  { text: "dynamic batching of every line", size: 36, at: [60, 260] },
  { text: "Sum", size: 36, at: [60, 360] },
  { text: "12.40", size: 36, at: [700, 360] },
] as const;

/** A page of text as a PNG file. */
export async function samplePage(): Promise<Blob> {
  const canvas = new OffscreenCanvas(960, 440);
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("this browser has no 2D canvas");
  context.fillStyle = "#fdfbf4";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = "#1d2b2a";
  context.textBaseline = "middle";
  for (const { at, size, text } of LINES) {
    const font = `500 ${size}px 'Inter Variable'`;
    await document.fonts.load(font, text);
    context.font = font;
    context.fillText(text, at[0], at[1]);
  }
  return await canvas.convertToBlob();
}
