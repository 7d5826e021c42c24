import { buildPages } from "./origin.ts";

export default async function globalSetup(): Promise<void> {
  await buildPages();
}
