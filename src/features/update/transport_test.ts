import { assertEquals, assertThrows } from "@std/assert";
import { SvcError } from "../../protocol/errors.ts";
import { parseReleaseUrl } from "./transport.ts";

Deno.test("releases are fetched over https, or over http from this machine", () => {
  for (
    const url of [
      "https://example.com/manifest.json",
      "http://127.0.0.1:8000/manifest.json",
      "http://[::1]:8000/manifest.json",
      "http://localhost/manifest.json",
    ]
  ) assertEquals(parseReleaseUrl(url).href, url);
  for (
    const url of [
      "http://example.com/manifest.json",
      "http://127.0.0.1.example.com/manifest.json",
      "http://127.0.0.1:80@example.com/manifest.json",
      "https://user:secret@example.com/manifest.json",
      "file:///etc/passwd",
      "ftp://example.com/x",
      "nonsense",
    ]
  ) assertThrows(() => parseReleaseUrl(url), SvcError);
});
