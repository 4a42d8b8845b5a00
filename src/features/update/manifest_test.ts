import { assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { parseManifest } from "./manifest.ts";

Deno.test("what is wrong with a manifest is said in plain words", () => {
  for (
    const [text, said] of [
      ["{", "the manifest is not JSON: "],
      ["{}", "the manifest's schema: must be 1"],
      ['{"schema":1,"version":4711}', "the manifest's version: must be text, not a number"],
    ]
  ) assertThrows(() => parseManifest(new TextEncoder().encode(text)), SvcError, said);
});
