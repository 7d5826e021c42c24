import type { ModelConfig, ModelSequenceBatching_InitialState } from "@naiad/model-config";
import { configDatatype, toSize } from "@naiad/model-config";
import type { Datatype } from "@naiad/protocol";
import { madeUpElements } from "@naiad/protocol";
import { checkedCount } from "../../lifecycle/checked-count.ts";
import { readConfiguredElements } from "../../lifecycle/read-configured-file.ts";
import type { ModelFiles } from "../../ports.ts";
import type { SequenceState } from "./sequence-states.ts";

/**
 * The states that a (valid) configuration asks for, with what each sequence begins with: zeros, or the content of a file
 * in the model's folder `initial_state`. Without `initial_state` Triton begins with whatever is in memory; here it is
 * zeros, with sizes of 1 in the place of variable ones. Rejects with Triton's texts where a file is missing or too short.
 */
export async function readInitialStates(
  config: ModelConfig,
  files: ModelFiles,
): Promise<readonly SequenceState[]> {
  if (config.schedulingChoice.case !== "sequenceBatching") return [];
  const batch = config.maxBatchSize > 0 ? [1] : [];
  return Promise.all(
    config.schedulingChoice.value.state.map(async (state) => {
      const datatype = configDatatype(state.dataType);
      const [initial] = state.initialState;
      const shape = [
        ...batch,
        ...(initial?.dims ?? state.dims).map((dim) => (dim === -1n ? 1 : toSize(state.inputName, dim))),
      ];
      const count = checkedCount({ name: state.inputName, datatype, shape });
      const bytes = await content({ config, files, initial, datatype, count });
      const { inputName, outputName } = state;
      return { inputName, outputName, initial: { kind: "bytes", name: inputName, datatype, shape, bytes } };
    }),
  );
}

async function content({
  config,
  files,
  initial,
  datatype,
  count,
}: {
  readonly config: ModelConfig;
  readonly files: ModelFiles;
  readonly initial: ModelSequenceBatching_InitialState | undefined;
  readonly datatype: Datatype;
  readonly count: number;
}): Promise<Uint8Array> {
  if (initial?.stateData.case !== "dataFile") return madeUpElements(datatype, count, "zero");
  const fileName = initial.stateData.value;
  const path = `initial_state/${fileName}`;
  return readConfiguredElements(
    { modelName: config.name, path, files },
    {
      datatype,
      count,
      // The missing space is Triton's.
      tooShort: ({ expected, found }) =>
        `initial_state setting expects ${expected} bytes, but the data provided from ${fileName}only has ${found} bytes.`,
    },
  );
}
