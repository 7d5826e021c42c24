/** The part of the namespace that makes instances of modules. */
export type WasmNamespace = Pick<
  typeof WebAssembly,
  "Instance" | "Memory" | "instantiate" | "instantiateStreaming"
>;

/**
 * From now on every memory of a WebAssembly instance is noticed, one that it is given as well as one that it exports: engines do
 * not tell theirs. The result gives the bytes of those that are there. Nothing else about the namespace changes.
 */
export function watchWasmMemories(namespace: WasmNamespace): () => number {
  const { Instance, Memory, instantiate, instantiateStreaming } = namespace;
  const memories = new Set<WeakRef<WebAssembly.Memory>>();

  function notice(value: unknown): void {
    if (!(value instanceof Memory)) return;
    for (const known of memories) if (known.deref() === value) return;
    memories.add(new WeakRef(value));
  }

  function noticeAll(instance: WebAssembly.Instance, imports: WebAssembly.Imports | undefined): void {
    for (const module of Object.values(imports ?? {})) Object.values(module).forEach(notice);
    Object.values(instance.exports).forEach(notice);
  }

  const watched =
    (make: Instantiate): Instantiate =>
    async (source, imports) => {
      const made = await make(source, imports);
      noticeAll("instance" in made ? made.instance : made, imports);
      return made;
    };

  // The overloads differ in what they take and give, and this does not look at it.
  Reflect.set(namespace, "instantiate", watched(instantiate as Instantiate));
  Reflect.set(namespace, "instantiateStreaming", watched(instantiateStreaming as unknown as Instantiate));
  Reflect.set(
    namespace,
    "Instance",
    new Proxy(Instance, {
      construct(target, [module, imports]: [WebAssembly.Module, WebAssembly.Imports | undefined]) {
        const instance = new target(module, imports);
        noticeAll(instance, imports);
        return instance;
      },
    }),
  );

  return () => {
    let bytes = 0;
    for (const known of memories) {
      const memory = known.deref();
      if (memory === undefined) memories.delete(known);
      else bytes += memory.buffer.byteLength;
    }
    return bytes;
  };
}

type Instantiate = (
  source: unknown,
  imports?: WebAssembly.Imports,
) => Promise<WebAssembly.Instance | WebAssembly.WebAssemblyInstantiatedSource>;
