import { assertEquals } from "@std/assert";
import { contentLength, forwardedHead, parseHead } from "./http_head.ts";

const head = (text: string) => parseHead(Uint8Array.from(text, (it) => it.charCodeAt(0)));
const START = "GET http://a.example/ HTTP/1.1\r\n";

Deno.test("a head is read with its headers in order", () => {
  assertEquals(head(`${START}Host: a.example\r\nX-A:  b c \r\nX-E:\r\n\r\n`), {
    method: "GET",
    target: "http://a.example/",
    version: "HTTP/1.1",
    headers: [["host", "a.example"], ["x-a", "b c"], ["x-e", ""]],
  });
});

Deno.test("what servers could read in another way is not a head", () => {
  const heads = [
    "GET http://a.example/ HTTP/1.1\n\n",
    "GET  http://a.example/ HTTP/1.1\r\n\r\n",
    "GET http://a.example/ HTTP/1.1 \r\n\r\n",
    "GET http://a.example/ x HTTP/1.1\r\n\r\n",
    "GET\thttp://a.example/ HTTP/1.1\r\n\r\n",
    "get http://a.example/ HTTP/1.1\r\n\r\n",
    "GET http://a.example/ HTTP/2.0\r\n\r\n",
    "GET http://a.example/\r\n\r\n",
    `${START}Host : a\r\n\r\n`,
    `${START} Host: a\r\n\r\n`,
    `${START}Host: a\r\n folded\r\n\r\n`,
    `${START}Host: a\nX: b\r\n\r\n`,
    `${START}Host: a\rX: b\r\n\r\n`,
    `${START}Host: a\0\r\n\r\n`,
    `${START}no colon\r\n\r\n`,
    `\r\n${START}\r\n`,
  ];
  for (const text of heads) assertEquals(head(text), undefined, JSON.stringify(text));
});

Deno.test("the length of content is certain or not known", () => {
  const length = (more: string) => contentLength(head(`${START}${more}\r\n`)!);
  assertEquals(length(""), 0);
  assertEquals(length("Content-Length: 12\r\n"), 12);
  for (const text of ["+1", "1, 1", "0x10", "-1", "1e3", ""]) {
    assertEquals(length(`Content-Length: ${text}\r\n`), undefined, text);
  }
  assertEquals(length("Content-Length: 1\r\nContent-Length: 1\r\n"), undefined);
  assertEquals(length("Transfer-Encoding: chunked\r\n"), undefined);
  assertEquals(length("Transfer-Encoding: x\r\nContent-Length: 1\r\n"), undefined);
});

Deno.test("the server is sent its own name, one request, and nothing that was for the proxy", () => {
  const request = head(
    `${START}Host: other.example\r\nProxy-Authorization: Basic eA==\r\nConnection: x-hop, content-length\r\n` +
      "X-Hop: 1\r\nX-Kept: 2\r\nContent-Length: 3\r\nUpgrade: h2c\r\n\r\n",
  )!;
  const sent = new TextDecoder().decode(forwardedHead(request, "/p?q", "a.example"));
  assertEquals(
    sent,
    "GET /p?q HTTP/1.1\r\nhost: a.example\r\nx-kept: 2\r\ncontent-length: 3\r\nconnection: close\r\n\r\n",
  );
});
