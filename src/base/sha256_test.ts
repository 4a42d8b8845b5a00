import { assertEquals } from "@std/assert";
import { sha256Hex } from "./sha256.ts";

Deno.test("the digest is that of FIPS 180-2, of UTF-8", async () => {
  assertEquals(
    await sha256Hex("abc"),
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
  );
  assertEquals(
    await sha256Hex("é"),
    "4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c",
  );
});
