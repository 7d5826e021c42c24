import type { ManifestModel, ModelFile } from "../ports.ts";

/**
 * The files that one version of a model can need: its own directory and everything that belongs to no version, such as
 * labels. The configuration itself is read by the server.
 */
export function versionFiles(model: ManifestModel, version: number): readonly ModelFile[] {
  return model.files.filter(({ path }) => {
    const slash = path.indexOf("/");
    if (slash < 0) return path !== "config.pbtxt";
    const directory = path.slice(0, slash);
    return directory === String(version) || (!/^[0-9]+$/.test(directory) && directory !== "configs");
  });
}
