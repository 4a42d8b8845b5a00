import { assertEquals, assertThrows } from "@std/assert";
import {
  allowsHost,
  entryFor,
  parseAllowedHost,
  parseAuthority,
  parseHost,
  shownHost,
} from "./allowed_hosts.ts";

const allows = (entry: string, host: string, port = 443) =>
  allowsHost(parseAllowedHost(entry), { host, port });

Deno.test("an entry allows its host at the usual ports, or at the port it names", () => {
  assertEquals(allows("example.com", "example.com"), true);
  assertEquals(allows("Example.COM.", "example.com", 80), true);
  assertEquals(allows("example.com", "example.com", 22), false);
  assertEquals(allows("example.com:22", "example.com", 22), true);
  assertEquals(allows("example.com:22", "example.com"), false);
  assertEquals(allows("example.com", "a.example.com"), false);
  assertEquals(allows("example.com", "notexample.com"), false);
});

Deno.test("a wildcard allows subdomains of any depth, and not the domain", () => {
  for (const host of ["a.example.com", "b.a.example.com"]) {
    assertEquals(allows("*.example.com", host), true);
  }
  for (const host of ["example.com", "aexample.com", "a.example.com.evil.org", "example.org"]) {
    assertEquals(allows("*.example.com", host), false);
  }
});

Deno.test("addresses and this machine are named with their port", () => {
  assertEquals(allows("127.0.0.1:4873", "127.0.0.1", 4873), true);
  assertEquals(allows("[0:0::1]:4873", "::1", 4873), true);
  assertEquals(allows("localhost:4873", "localhost", 4873), true);
  assertEquals(allows("localhost:4873", "127.0.0.1", 4873), false);
  for (const text of ["127.0.0.1", "[::1]", "localhost", "10.0.0.1"]) {
    assertThrows(() => parseAllowedHost(text), Error, "name the port");
  }
});

Deno.test("what is not a plain host is not an entry", () => {
  const texts = [
    "",
    "*",
    "*.",
    "**.example.com",
    "a.*.com",
    "*.127.0.0.1:80",
    "https://example.com",
  ];
  texts.push(
    "example.com/",
    "example.com:0",
    "example.com:65536",
    "user@example.com",
    "exa mple.com",
  );
  texts.push("2130706433:80", "0x7f.1:80", "127.1:80", "0177.0.0.1:80", "::1", "[::1", "ä.example");
  for (const text of texts) {
    assertThrows(() => parseAllowedHost(text), Error, "is not a host", text);
  }
});

Deno.test("a host and a port have one way to be written", () => {
  const read = (text: string) => {
    const found = parseAuthority(text);
    return found && (found.port === undefined ? found.host : shownHost({ port: 0, ...found }));
  };
  assertEquals(read("EXAMPLE.com.:443"), "example.com:443");
  assertEquals(read("[::FFFF:127.0.0.1]:80"), "[::ffff:7f00:1]:80");
  assertEquals(read("127.0.0.1:80"), "127.0.0.1:80");
  const bad = [
    "127.1:80",
    "0x7f000001:80",
    "2130706433:80",
    "0177.0.0.1:80",
    "127.0.0.1.5:80",
    "a..b:80",
  ];
  bad.push(
    "a@b:80",
    "a:80:90",
    "a:080",
    "a/b:80",
    "a b:80",
    "a\0b:80",
    "a%2e.b:80",
    "[::1]x:80",
    "a:",
    ":80",
  );
  bad.push("１２７.0.0.1:80", "a\\b:80", "[fe80::1%lo]:80", `${"a".repeat(64)}.b:80`);
  for (const text of bad) assertEquals(read(text), undefined, text);
});

Deno.test("the entry that is offered for a destination allows it", () => {
  const places = [["example.com", 443], ["example.com", 22], ["::1", 80], [
    "localhost",
    80,
  ]] as const;
  const entries = places.map(([host, port]) => entryFor({ host, port }));
  assertEquals(entries, ["example.com", "example.com:22", "[::1]:80", "localhost:80"]);
  places.forEach(([host, port], n) => assertEquals(allows(entries[n], host, port), true));
});

Deno.test("a host with a colon is an address of IPv6 and nothing else", () => {
  assertEquals(parseHost("::1"), "::1");
  assertEquals(parseHost("[0:0::1]"), "::1");
  for (const text of ["x:y@agood.exampleb/", "x:y@a0x7f000001b/", "a:b", "::1]/[", "::1%lo", ":"]) {
    assertEquals(parseHost(text), undefined, text);
  }
});
