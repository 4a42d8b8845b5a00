import { assertEquals } from "@std/assert";
import { ModelError } from "../models/model.ts";
import type { Attachment, MediaType } from "../protocol/attachments.ts";
import type { Item } from "../session/transcript_items.ts";
import {
  attachmentTokens,
  isCrowded,
  oldAttachments,
  refusedAttachments,
  refusesAttachments,
} from "./attachments.ts";

function files(count: number, bytes = 1_000, media_type: MediaType = "image/png"): Attachment[] {
  return Array.from({ length: count }, () => ({ hash: "", media_type, name: "a", bytes }));
}

function said(seq: number, attachments?: Attachment[]): Item {
  return { user: "look", seq, attachments };
}

function step(first_seq: number, ...attached: Attachment[][]): Item {
  const results = attached.map((attachments, n) => {
    const seq = first_seq + 2 + n;
    return { call_id: `c${n}`, tool: "t", ok: true, output: "", seq, attachments };
  });
  return { step: { first_seq, text: "", calls: [], results } };
}

Deno.test("attachments are crowded past what the providers accept", () => {
  assertEquals(isCrowded([said(1, files(20))]), false);
  assertEquals(isCrowded([said(1, files(20)), step(2, files(1))]), true);
  assertEquals(isCrowded([said(1, files(2, 7_000_000))]), false);
  assertEquals(isCrowded([said(1, files(2, 7_000_001))]), true);
});

Deno.test("the oldest attachments go first, what the model has not seen stays", () => {
  const old = (items: Item[], keep = Infinity) => oldAttachments(items, keep)?.to_seq;
  assertEquals(old([said(1, files(3)), step(2), said(5, files(7))]), undefined);
  assertEquals(old([said(1, files(6)), step(2), said(5, files(6))]), 1);
  // Unseen: up to the limits of a request.
  assertEquals(old([step(2), said(5, files(20))]), undefined);
  assertEquals(old([step(2), said(5, files(20)), said(6, files(1))]), 5);
  assertEquals(old([step(2, files(6), files(6), files(8), files(1))]), 4);
  // Seen: no more than may be kept.
  assertEquals(old([said(1, files(1)), step(2), step(5), said(9, files(1))], 3_000), 1);
  assertEquals(old([said(1, files(1)), step(2), step(5)], 1_600), undefined);
});

Deno.test("a refusal concerns what is new to the model, and after that all", () => {
  const items = [said(1, files(1)), step(2, files(1)), said(9, files(1))];
  assertEquals(refusedAttachments(items), { from_seq: 3, to_seq: 9, refused: true });
  assertEquals(refusedAttachments([said(1, files(1)), step(2)]), {
    from_seq: 0,
    to_seq: 1,
    refused: true,
  });
  assertEquals(refusedAttachments([said(1), step(2)]), undefined);
});

Deno.test("a refused image is told from another refusal", () => {
  const refuses = (status: number | undefined, message: string, retryable = false) =>
    refusesAttachments(new ModelError(message, { status, retryable }));
  for (
    const message of [
      "claude answered 400: messages.0.content.1.image.source.base64.data: Could not process image",
      "openai answered 400: You uploaded an unsupported image.",
      "gemini answered 400: Unsupported MIME type: image/gif",
      "openrouter answered 404: No endpoints found that support image input",
      "claude answered 400: The PDF specified was not valid.",
    ]
  ) assertEquals(refuses(Number(/\d{3}/.exec(message)![0]), message), true, message);
  assertEquals(refuses(400, "claude answered 400: Your credit balance is too low"), false);
  assertEquals(refuses(401, "openai answered 401: no access to images"), false);
  assertEquals(refuses(429, "too many images", true), false);
});

Deno.test("tokens of images are a constant, those of documents go by their size", () => {
  assertEquals(attachmentTokens(files(3)), 4_800);
  const pdf = (bytes: number) => attachmentTokens(files(1, bytes, "application/pdf"));
  assertEquals([pdf(100), pdf(80_000), pdf(5_500_000)], [3_000, 10_000, 100_000]);
});
