import { describe, expect, it } from "vitest";
import { foreignFile } from "./foreign-file.ts";

function headOf(text: string): Uint8Array {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

describe("foreignFile", () => {
  it.each([
    ["", "empty"],
    ["version https://git-lfs.github.com/spec/v1\noid sha256:4d7a", "a Git LFS pointer"],
    ["/annex/objects/SHA256E-s1--a", "a git-annex pointer"],
    ["<!DOCTYPE html><title>app</title>", "an HTML page"],
    ["\n  <html lang=en>", "an HTML page"],
    ['<?xml version="1.0"?><Error>', "an XML document"],
    ["<Error><Code>AccessDenied", "an XML document"],
    ['{"error":"not found"}', "a JSON document"],
    ["PK\x03\x04\0\0", "a ZIP archive"],
    ["\x1f\x8b\x08", "a gzip file"],
    ["\x1c\0\0\0TFL3", "a TensorFlow Lite model"],
    ["\x89HDF\r\n\x1a\n", "an HDF5 file"],
    ["\x1c\0\0\0ORTM", "a model in ORT format"],
  ])("knows %j as %s", (text, what) => {
    expect(foreignFile(headOf(text))).toMatch(new RegExp(`^${what}`));
  });

  it.each(["\x08\x07\x12\x07pytorch", "0123456789", "\0\0\0\0"])("says nothing of %j", (text) => {
    expect(foreignFile(headOf(text))).toBeUndefined();
  });
});
