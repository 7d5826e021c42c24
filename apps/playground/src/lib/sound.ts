/** What the voice detector hears at a time: 32 ms at 16 kHz. */
export const SAMPLE_RATE = 16_000;
export const FRAME = 512;
export type Frame = Float32Array<ArrayBuffer>;

/** The whole frames of a sound file, mixed down to one channel and brought to 16 kHz. */
export async function fileFrames(file: Blob): Promise<readonly Frame[]> {
  const context = new OfflineAudioContext(1, 1, SAMPLE_RATE);
  const sound = await context.decodeAudioData(await file.arrayBuffer());
  const mono = new Float32Array(sound.length);
  for (let channel = 0; channel < sound.numberOfChannels; channel += 1) {
    const samples = sound.getChannelData(channel);
    for (const [index, sample] of samples.entries())
      mono[index] = (mono[index] ?? 0) + sample / sound.numberOfChannels;
  }
  return Array.from({ length: Math.floor(mono.length / FRAME) }, (_, index) =>
    mono.slice(index * FRAME, (index + 1) * FRAME),
  );
}

/** Runs on the audio thread, where modules cannot be shared with the page: collects blocks of 128 samples to a frame. */
const COLLECTOR = `
registerProcessor("frame-collector", class extends AudioWorkletProcessor {
  frame = new Float32Array(${FRAME});
  length = 0;
  process([[samples]]) {
    if (samples === undefined) return true;
    this.frame.set(samples, this.length);
    this.length += samples.length;
    if (this.length === ${FRAME}) {
      this.port.postMessage(this.frame);
      this.length = 0;
    }
    return true;
  }
});
`;

/** The frames of the microphone as they come, until the signal is aborted. Rejects when it must not or cannot be used. */
export async function* microphoneFrames(signal: AbortSignal): AsyncGenerator<Frame> {
  const microphone = await navigator.mediaDevices.getUserMedia({ audio: { channelCount: 1 } });
  const context = new AudioContext({ sampleRate: SAMPLE_RATE });
  const script = URL.createObjectURL(new Blob([COLLECTOR], { type: "text/javascript" }));
  try {
    await context.audioWorklet.addModule(script);
    const collector = new AudioWorkletNode(context, "frame-collector", { numberOfOutputs: 0 });
    context.createMediaStreamSource(microphone).connect(collector);
    const frames = new ReadableStream<Frame>({
      start(controller) {
        collector.port.onmessage = ({ data }: MessageEvent<Frame>) => {
          if (!signal.aborted) controller.enqueue(data);
        };
        signal.addEventListener("abort", () => controller.close(), { once: true });
        if (signal.aborted) controller.close();
      },
    }).getReader();
    for (let next = await frames.read(); !next.done; next = await frames.read()) yield next.value;
  } finally {
    URL.revokeObjectURL(script);
    for (const track of microphone.getTracks()) track.stop();
    await context.close();
  }
}
