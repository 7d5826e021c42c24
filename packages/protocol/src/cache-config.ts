/** Where the server keeps the answers of models that enable `response_cache`. */
export type CacheConfig = { readonly kind: "none" } | { readonly kind: "local"; readonly byteSize: number };

/**
 * Reads Triton's `--cache-config`: `local,size=<bytes>`, in one text or several, as one may say the flag several times. No
 * text means no cache. Throws a TypeError for anything else.
 */
export function parseCacheConfig(texts: readonly string[]): CacheConfig {
  const settings = texts.map(readSetting);
  const names = [...new Set(settings.map(({ cache }) => cache))];
  const [name] = names;
  if (name === undefined) return { kind: "none" };
  if (names.length > 1) {
    throw new TypeError(`multiple cache configurations are not supported: ${names.join(", ")}`);
  }
  if (name !== "local") throw new TypeError(`unable to find cache '${name}': there is 'local'`);

  const byName = new Map(settings.map(({ setting, value }) => [setting, value]));
  const size = byName.get("size");
  if (size === undefined) {
    throw new TypeError("Failed to initialize LocalCache: config didn't contain a valid 'size' field.");
  }
  const byteSize = Number(size);
  if (!/^\d+$/.test(size) || byteSize === 0 || !Number.isSafeInteger(byteSize)) {
    throw new TypeError(`Failed to initialize LocalCache: 'size' is no number of bytes: '${size}'`);
  }
  return { kind: "local", byteSize };
}

interface CacheSetting {
  readonly cache: string;
  readonly setting: string;
  readonly value: string;
}

function readSetting(text: string): CacheSetting {
  const { cache = "", setting = "", value = "" } = FORM.exec(text)?.groups ?? {};
  if (setting !== "") return { cache, setting, value };
  throw new TypeError(`cache configuration '${text}' is not of the form <cache name>,<setting>=<value>`);
}

const FORM = /^(?<cache>[^,]+),(?<setting>[^=]+)=(?<value>.+)$/s;
