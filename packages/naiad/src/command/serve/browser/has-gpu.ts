import { readdirSync } from "node:fs";

/** Whether the system shows a graphics processor. Elsewhere than on Linux there is always one. */
export function hasGpu(platform: NodeJS.Platform, listDevices: () => readonly string[] = devices): boolean {
  if (platform !== "linux") return true;
  return listDevices().some((name) => /^(nvidia\d+|dxg|renderD\d+)$/.test(name));
}

function devices(): readonly string[] {
  return ["/dev", "/dev/dri"].flatMap((folder) => {
    try {
      return readdirSync(folder);
    } catch {
      return [];
    }
  });
}
