/**
 * Reads Triton's `--http-header-forward-pattern`, which may match any part of a header's name. From a browser names come in
 * lower case, so the case of the pattern has no meaning; a leading `(?i)`, which JavaScript does not know, is left out.
 * Throws a SyntaxError for what is no regular expression.
 */
export function parseHeaderPattern(pattern: string): RegExp {
  return new RegExp(pattern.replace(/^\(\?i\)/, ""), "i");
}
