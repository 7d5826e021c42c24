/** 128 random bits in hexadecimal. (`crypto.randomUUID` exists in secure contexts only.) */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
