import type { Tensor } from "@naiad/protocol";

/** A state of implicit state management: an output of one step that is an input of the next. */
export interface SequenceState {
  readonly inputName: string;
  readonly outputName: string;
  /** Under the name of the input, with a batch dimension of one row where the model batches. */
  readonly initial: Tensor;
}

/** The states of one sequence, under the names of the inputs and in the order of the configuration. */
export type StateTensors = readonly Tensor[];

export function initialStates(states: readonly SequenceState[]): StateTensors {
  return states.map(({ initial }) => initial);
}

/** After a step with these outputs. A state that the model did not give stays as it was. */
export function nextStates(
  states: readonly SequenceState[],
  current: StateTensors,
  outputs: readonly Tensor[],
): StateTensors {
  return states.map(({ inputName, outputName, initial }, index) => {
    const output = outputs.find(({ name }) => name === outputName);
    return output === undefined ? (current[index] ?? initial) : { ...output, name: inputName };
  });
}

/** What to ask the model for: the outputs that the client wants, and the states. */
export function executedOutputs(
  states: readonly SequenceState[],
  wanted: readonly string[],
): readonly string[] {
  const others = states.map(({ outputName }) => outputName).filter((name) => !wanted.includes(name));
  return others.length === 0 ? wanted : [...wanted, ...others];
}
