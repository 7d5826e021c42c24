/**
 * Makes text of the bytes of one token after the other. Bytes wait until their character is whole, and text waits as long as it may
 * be the beginning of a stop word, because what was sent cannot be taken back.
 *
 * @param {readonly string[]} stopWords Where the first of them appears, the text ends in front of it.
 */
export function createTextStream(stopWords) {
  const words = stopWords.filter((word) => word !== "");
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  let held = "";
  let isStopped = false;

  /** @param {string} more */
  function advance(more) {
    held += more;
    const starts = words.map((word) => held.indexOf(word)).filter((start) => start >= 0);
    if (starts.length > 0) {
      isStopped = true;
      return release(Math.min(...starts));
    }
    return release(held.length - Math.max(0, ...words.map((word) => overlap(held, word))));
  }

  /** @param {number} length */
  function release(length) {
    const text = held.slice(0, length);
    held = isStopped ? "" : held.slice(length);
    return text;
  }

  return {
    get isStopped() {
      return isStopped;
    },

    /**
     * @param {Uint8Array} bytes
     * @returns {string} What is certain now, often nothing.
     */
    push(bytes) {
      return isStopped ? "" : advance(utf8.decode(bytes, { stream: true }));
    },

    /** @returns {string} What was held back, when nothing comes any more. */
    end() {
      if (isStopped) return "";
      const text = advance(utf8.decode());
      return isStopped ? text : text + release(held.length);
    },
  };
}

/**
 * How much of the end of `text` may be the beginning of `word`.
 *
 * @param {string} text
 * @param {string} word
 */
function overlap(text, word) {
  for (let length = Math.min(text.length, word.length - 1); length > 0; length -= 1) {
    if (text.endsWith(word.slice(0, length))) return length;
  }
  return 0;
}
