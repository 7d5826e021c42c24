/** The content of a file of the page's own. */
export async function openFile(url: string): Promise<Blob> {
  const response = await fetch(url);
  return await response.blob();
}
