/**
 * Loads a model that this one asks and that no ensemble step names, so that the server cannot know that it is needed. Not in
 * `initialize`: a server that is starting takes no load requests.
 *
 * @param {import("naiad/model").ModelArgs} args
 * @param {string} modelName
 */
export async function makeReady({ isModelReady, loadModel }, modelName) {
  if (!(await isModelReady(modelName))) await loadModel(modelName);
}
