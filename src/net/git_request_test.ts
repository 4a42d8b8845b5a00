import { assertEquals, assertThrows } from "@std/assert";
import {
  gitHostBehind,
  gitHostText,
  gitSettings,
  leadsToGit,
  parseGitHost,
  requireOneEach,
} from "./git_hosts.ts";
import { gitHead, parseGitRequest } from "./git_request.ts";
import { parseAnswerHead } from "./http_answer.ts";
import { parseHead, type ProxyRequest } from "./http_head.ts";

const asking = (target: string, method = "GET", headers: ProxyRequest["headers"] = []) =>
  parseGitRequest({ method, target: "", version: "HTTP/1.1", headers }, target);

const TYPE = ["content-type", "application/x-git-receive-pack-request"] as const;

Deno.test("a host is an exact name, at any port but that of plain http", () => {
  assertEquals(parseGitHost("GitHub.com"), { host: "github.com", port: 443 });
  assertEquals(parseGitHost("a.example:8443"), { host: "a.example", port: 8443 });
  assertEquals(parseGitHost("127.0.0.1:8443"), { host: "127.0.0.1", port: 8443 });
  const wrong = [
    "",
    "*.a.example",
    "https://a",
    "me:x@a",
    "@a",
    "a/b",
    "a:80",
    "a:0",
    "[::1]:1",
    "1.2.3",
  ];
  for (const text of [...wrong, "a.git.svc.invalid"]) assertThrows(() => parseGitHost(text), Error);
  assertEquals(parseGitHost("me@a.example"), { host: "a.example", port: 443, user: "me" });
  requireOneEach(["a.example", "b.example", "a.example:1"]);
  assertThrows(
    () => requireOneEach(["a.example", "me@A.example:443"]),
    Error,
    "names a.example twice",
  );
});

Deno.test("addresses of a host lead to a name that only the proxy knows, and back", () => {
  for (const text of ["github.com", "a.example:8443"]) {
    const to = parseGitHost(text);
    for (const [key] of gitSettings([to])) {
      const [, name, port] = /^url\.http:\/\/([^/:]*)(?::(\d+))?\/\.insteadOf$/.exec(key)!;
      assertEquals(leadsToGit(name), true);
      assertEquals(gitHostBehind({ host: name, ...(port && { port: Number(port) }) }), to);
    }
    assertEquals(gitHostText(to), text);
  }
  assertEquals(gitSettings([parseGitHost("github.com")]).map(([, value]) => value), [
    "https://github.com/",
    "https://github.com:443/",
    "http://github.com/",
    "git@github.com:",
    "ssh://git@github.com/",
  ]);
  const named = gitSettings([parseGitHost("me@a.example:1")]).map(([, value]) => value);
  assertEquals(named, ["https://a.example:1/", "https://me@a.example:1/"]);
  const others = ["github.com", "svc.invalid", "a.git.svc.invalid.example", "agit.svc.invalid"];
  assertEquals(others.filter(leadsToGit), []);
});

Deno.test("the four requests of git are told from all others", () => {
  const at = (text: string) => {
    const git = asking(text);
    return typeof git === "string" ? undefined : [git.service, git.repository];
  };
  const refs = "/info/refs?service=git-upload-pack";
  for (const path of ["/a/b", "/a/b.git", "/~me/b", "/a%20b/_git/c", "/a/b.git/info/refs"]) {
    assertEquals(at(path + refs), ["git-upload-pack", path]);
  }
  const wrong = ["", "/", "/a/", "/a//b", "/.", "/a/..", "/../a", "/a/%2e%2e/b", "/a;b", "/a?b"];
  for (const path of [...wrong, "/a\\b", "/a%00", "/a%2fb", "/a*", "/é", `/${"a".repeat(300)}`]) {
    assertEquals(at(path + refs), undefined, path);
  }
  assertEquals(at("/a/info/refs"), undefined);
  assertEquals(at(`/a${refs}&b=c`), undefined);
  const sent = asking("/a/git-receive-pack", "POST", [TYPE, ["content-length", "4"]]);
  assertEquals(sent, { service: "git-receive-pack", repository: "/a", body: 4 });
  assertEquals(typeof asking("/a/git-receive-pack", "GET"), "string");
  assertEquals(typeof asking("/a/git-receive-pack", "POST"), "string");
  assertEquals(typeof asking("/a/git-upload-pack", "POST", [TYPE]), "string");
});

Deno.test("content has one clear end, or the request is refused", () => {
  const body = (...headers: [string, string][]) => {
    const git = asking("/a/git-receive-pack", "POST", [TYPE, ...headers]);
    return typeof git === "string" ? undefined : git.body;
  };
  const [length, chunked]: [string, string][] = [["content-length", "4"], [
    "transfer-encoding",
    "Chunked",
  ]];
  assertEquals([body(), body(length), body(chunked)], [0, 4, "chunked"]);
  assertEquals([body(length, length), body(length, chunked), body(chunked, chunked)], [
    undefined,
    undefined,
    undefined,
  ]);
  for (const value of ["-1", "+4", "4, 4", "0x4", ""]) {
    assertEquals(body(["content-length", value]), undefined, value);
  }
  for (const value of ["gzip, chunked", "chunked;q=1", "identity"]) {
    assertEquals(body(["transfer-encoding", value]), undefined, value);
  }
  assertEquals(typeof asking("/a/info/refs?service=git-upload-pack", "GET", [length]), "string");
});

Deno.test("a server gets what git needs, and the credential of nobody but the person", () => {
  const request = parseHead(new TextEncoder().encode(
    "POST http://x/ HTTP/1.1\r\nHost: x\r\nAuthorization: Basic eDp5\r\nCookie: a=b\r\n" +
      "Git-Protocol: version=2\r\nContent-Encoding: gzip\r\nX-Forwarded-Host: evil\r\n" +
      "Proxy-Authorization: Basic eDp5\r\nConnection: git-protocol\r\n\r\n",
  ))!;
  const head = new TextDecoder().decode(
    gitHead(request, {
      target: "/a",
      host: "h:1",
      body: "chunked",
      authorization: "Basic bWU6cA==",
    }),
  );
  assertEquals(
    head,
    "POST /a HTTP/1.1\r\nhost: h:1\r\ngit-protocol: version=2\r\ncontent-encoding: gzip\r\n" +
      "authorization: Basic bWU6cA==\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
  );
});

Deno.test("heads of answers are read, and unclear ones refused", () => {
  const read = (text: string) => parseAnswerHead(new TextEncoder().encode(text));
  assertEquals(read("HTTP/1.1 200 OK\r\nA: b c \r\n\r\n"), {
    status: 200,
    headers: [["a", "b c"]],
  });
  assertEquals(read("HTTP/1.1 404\r\n\r\n")?.status, 404);
  const wrong = [
    "HTTP/2 200\r\n\r\n",
    "HTTP/1.1 20\r\n\r\n",
    "HTTP/1.1 200 OK\r\na: b\r\n c\r\n\r\n",
  ];
  for (const text of [...wrong, "HTTP/1.1 200 OK\nA: b\n\n", "HTTP/1.1 200 OK\r\nA : b\r\n\r\n"]) {
    assertEquals(read(text), undefined);
  }
});
