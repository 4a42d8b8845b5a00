import { assertEquals, assertThrows } from "@std/assert";
import { serve } from "./table/serve.ts";
import { UsageError } from "./define.ts";
import type { Input } from "./spec.ts";
import { parseTokens } from "./environment.ts";
import { hireOptions } from "./hire_flags.ts";
import { parse } from "./parse.ts";
import type { SERVE } from "./table/serve_spec.ts";

function read(argv: string[], tokens: string[] = []) {
  const { input } = parse(serve, "svc serve", argv);
  return hireOptions(input as unknown as Input<typeof SERVE>, tokens);
}
const on = "--enable-agent-routes";

Deno.test("without --enable-agent-routes nothing is taken for hire", () => {
  assertEquals(read([]), undefined);
  for (const argv of [["--caps", "code"], ["--insecure"], ["--task-timeout", "1m"]]) {
    assertThrows(() => read(argv), UsageError, "requires --enable-agent-routes");
  }
});

Deno.test("the defaults: port 8440 of this machine, ten minutes, every task type", () => {
  assertEquals(read([on]), {
    hostname: "127.0.0.1",
    port: 8440,
    timeout_ms: 600_000,
    caps: ["research", "browser", "deploy", "code"],
    allow_private: false,
    public_url: undefined,
  });
});

Deno.test("the public address is an http one, without query or fragment", () => {
  const publicUrl = (text: string) => read([on, "--public-url", text])?.public_url;
  assertEquals(publicUrl("https://agents.example.org"), "https://agents.example.org");
  assertEquals(publicUrl("https://example.org/svc/"), "https://example.org/svc");
  for (const text of ["example.org", "ftp://example.org", "https://example.org/?a"]) {
    assertThrows(() => publicUrl(text), UsageError, "for --public-url");
  }
});

Deno.test("a task may take what --task-timeout says", () => {
  const timeout = (time: string) => read([on, `--task-timeout=${time}`])!.timeout_ms;
  assertEquals(["90s", "10m", "1h", "500ms", "24h"].map(timeout), [
    ...[90_000, 600_000, 3_600_000, 500, 86_400_000],
  ]);
  for (
    const time of ["90", "soon", "-5s", "0s", "0m", "1h30", "1e3s", "Infinity", "90 d", "25d"]
  ) {
    assertThrows(() => timeout(time), UsageError, "90s, 10m or 1h", time);
  }
});

Deno.test("addresses with and without a host, also of IPv6", () => {
  const address = (addr: string, tokens = ["t"]) => {
    const { hostname, port } = read([on, "--addr", addr], tokens)!;
    return `${hostname} ${port}`;
  };
  assertEquals(address(":9"), "127.0.0.1 9");
  assertEquals(address("localhost:0"), "127.0.0.1 0");
  assertEquals(address("0.0.0.0:80"), "0.0.0.0 80");
  assertEquals(address("[::1]:80"), "::1 80");
  assertEquals(address("[::]:80"), ":: 80");
  for (const addr of ["8440", "a:b", ":70000", "::1:80", "[::1]"]) {
    assertThrows(() => address(addr), UsageError, "for --addr: expected host:port");
  }
});

Deno.test("an address of the network needs tokens, or --insecure", () => {
  for (const addr of ["0.0.0.0:80", "[::]:80", "192.168.1.2:80", "example.com:80"]) {
    assertThrows(() => read([on, "--addr", addr]), UsageError, "anyone who can reach");
    assertEquals(read([on, "--addr", addr, "--insecure"])?.port, 80);
    assertEquals(read([on, "--addr", addr], ["t"])?.port, 80);
  }
  assertEquals(read([on, "--addr", "127.0.0.2:80"])?.hostname, "127.0.0.2");
});

Deno.test("tokens are a comma-separated list; spaces and repetitions do not count", () => {
  assertEquals(parseTokens(" a, b,,a ,"), ["a", "b"]);
  assertEquals(parseTokens(undefined), []);
});
