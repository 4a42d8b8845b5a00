import { assertEquals, assertStringIncludes } from "@std/assert";
import { tinyGif, tinyJpeg, tinyPdf, tinyPng, tinyWebp } from "../../tests/support/media.ts";
import {
  attachmentLine,
  attachmentName,
  IMAGE_BYTES_MAX,
  type MediaType,
} from "../protocol/attachments.ts";
import { fromBase64, mediaHead, mediaProblem } from "./media.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

Deno.test("images and PDF documents are known by their first bytes", () => {
  assertEquals(mediaHead(tinyPng({ width: 3, height: 70_000 })), {
    media_type: "image/png",
    width: 3,
    height: 70_000,
  });
  assertEquals(mediaHead(tinyJpeg({ width: 640, height: 480 })), {
    media_type: "image/jpeg",
    width: 640,
    height: 480,
  });
  assertEquals(mediaHead(tinyGif()), { media_type: "image/gif", width: 1, height: 1 });
  assertEquals(mediaHead(tinyWebp()), { media_type: "image/webp", width: 1, height: 1 });
  assertEquals(mediaHead(tinyPdf()), { media_type: "application/pdf" });
});

Deno.test("text is no image, whatever it begins with", () => {
  for (
    const text of [
      "",
      "<svg xmlns='http://www.w3.org/2000/svg'/>",
      "GIF89a is a format of images",
      "RIFF",
      "\x89PNG",
      "%PD",
    ]
  ) assertEquals(mediaHead(bytes(text)), undefined, text);
});

Deno.test("a header that is cut off or makes no sense does no harm", () => {
  for (const whole of [tinyPng(), tinyJpeg(), tinyGif(), tinyWebp(), tinyPdf()]) {
    for (let length = 0; length < whole.length; length++) mediaHead(whole.subarray(0, length));
    for (let at = 0; at < whole.length; at++) mediaHead(whole.with(at, 255 - whole[at]));
  }
  // Segments of no length would never end.
  mediaHead(Uint8Array.fromHex("ffd8ffe00000ffe00000ffe00000ffe00000"));
});

Deno.test("an image is refused for its size in bytes and in pixels", () => {
  const problem = (media_type: MediaType, size: number, side = 1) =>
    mediaProblem({ media_type, width: side, height: 1 }, size);
  assertEquals(problem("image/png", IMAGE_BYTES_MAX), undefined);
  assertStringIncludes(problem("image/png", IMAGE_BYTES_MAX + 1)!, "at most 3.9 MB");
  assertEquals(problem("application/pdf", IMAGE_BYTES_MAX + 1), undefined);
  assertStringIncludes(problem("application/pdf", 20_000_000)!, "at most 5.5 MB");
  assertEquals(problem("image/png", 100, 8_000), undefined);
  assertStringIncludes(problem("image/png", 100, 100_000)!, "100000 × 1 pixels");
  assertStringIncludes(problem("image/png", 100, 0)!, "damaged");
});

Deno.test("base64 is decoded only as it is written usually", () => {
  assertEquals(fromBase64("QUI="), bytes("AB"));
  for (const bad of ["QUI", "QU I=", "QUI=\n", "QU-_", "=QUI", "QUI=QUI=", "QUL="]) {
    assertEquals(fromBase64(bad), undefined, bad);
  }
});

Deno.test("the line of an attachment has a clean name", () => {
  const line = (name: string, size: number) =>
    attachmentLine({ media_type: "image/png", name: attachmentName(name, "file"), bytes: size });
  assertEquals(line("/home/me/shot.png", 120_400), "[image: shot.png, 120 kB]");
  assertEquals(line("a]\n\x1b[31m\u202e[b.png", 5), "[image: a 31m b.png, 5 bytes]");
  assertEquals(line("..\\..\\", 1_260_000), "[image: file, 1.3 MB]");
  assertEquals(attachmentName("x".repeat(1_000), "").length, 100);
});
