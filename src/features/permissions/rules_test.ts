import { assertEquals, assertThrows } from "@std/assert";
import { choicesOf } from "./choices.ts";
import { type Call, decide, type Held } from "./decide.ts";
import { rulesIn } from "./project.ts";
import { type Action, parseRule, ruleText } from "./rule.ts";

const held = (action: Action, text: string): Held => ({
  ...parseRule(action, text),
  source: "config",
});

function call(tool: string, args: Record<string, unknown>, more: Partial<Call> = {}): Call {
  const path = typeof args.path === "string" ? args.path : undefined;
  const paths = path === undefined ? undefined : [{ inside: path, real: path }];
  return { tool, args, rule: tool, foreign: false, posix: true, paths, ...more };
}

Deno.test("the text of a rule is read and written back", () => {
  for (
    const text of [
      "write_file",
      "mcp_github_*",
      "run_command: npm test *",
      "run_command = npm ci; ls > x",
      "run_command =  two\nlines ",
      "write_file: src/**/*.ts",
      "fetch_url: https://*.example.com:8443/docs/*",
      "fetch_url: [::1]:80",
    ]
  ) assertEquals(ruleText(parseRule("allow", text)), text);
});

Deno.test("a rule that cannot mean what it says is refused", () => {
  const wrong: [Action, string, string][] = [
    ["deny", "", "is not a rule"],
    ["deny", "npm test", "is not a rule"],
    ["allow", "*", "cannot use *"],
    ["allow", "run_*", "cannot use *"],
    ["allow", "mcp_*", "cannot use *"],
    ["deny", "remember: x", "have no pattern"],
    ["deny", "*: x", "have no pattern"],
    ["allow", "write_file = x", "only run_command"],
    ["allow", "run_command =", "is missing"],
    ["allow", "run_command:", "is missing"],
    ["allow", "run_command: a && b", "one rule for each"],
    ["allow", "run_command: echo 'x'", "quotes"],
    ["allow", "run_command: a\nb", "more than one line"],
    ["allow", "write_file: /etc/*", "not relative"],
    ["allow", "write_file: ~/x", "not relative"],
    ["allow", "write_file: C:/x", "not relative"],
    ["allow", "write_file: a/../b", '".."'],
    ["allow", "write_file: a//b", "empty part"],
    ["allow", "write_file: {a,b}", "wildcards"],
    ["allow", "fetch_url: exa*mple.com", "is not a host"],
    ["allow", "fetch_url: ftp://example.com", "is not a host"],
    ["allow", "fetch_url: user@example.com", "is not a host"],
    ["allow", `run_command: ${"x".repeat(600)}`, "at most 500"],
    ["allow", `run_command = ${"x".repeat(5_000)}`, "more than 4096"],
  ];
  for (const [action, text, message] of wrong) {
    assertThrows(() => parseRule(action, text), Error, message, text);
  }
});

Deno.test("paths: * is one name, ** any number of them; stricter rules reach further", () => {
  const allowed = (text: string, path: string) =>
    decide(call("write_file", { path }), [held("allow", text)]).action === "allow";
  const denied = (text: string, path: string, tool = "write_file") =>
    decide(call(tool, { path }), [held("deny", text)]).action === "deny";
  const cases: [string, string, boolean, boolean][] = [
    ["write_file: src/**", "src/a/b.ts", true, true],
    ["write_file: src/**", "srcs/a", false, false],
    ["write_file: src/*", "src/a/b", false, false],
    ["write_file: src/*.ts", "src/a.ts", true, true],
    ["write_file: **/*.md", "README.md", true, true],
    ["write_file: **/*.md", "a/b/c.md", true, true],
    ["write_file: a/**/b/**/c", "a/b/b/x/c", true, true],
    ["write_file: .env", ".env", true, true],
    ["write_file: .env", "app/.env", false, true],
    ["write_file", "anything", true, true],
  ];
  for (const [rule, path, allows, denies] of cases) {
    assertEquals([allowed(rule, path), denied(rule, path)], [allows, denies], `${rule} ${path}`);
  }
  assertEquals(denied("write_file: src/**", "src/a", "edit_file"), true);
  assertEquals(decide(call("edit_file", { path: "src/a" }), [held("allow", "write_file")]), {});
  // Where a link leads counts too, and nobody knows where a path that climbs leads.
  const led = (inside?: string, real?: string) =>
    call("write_file", {}, { paths: [{ inside, real }] });
  const rules = [held("deny", "write_file: secret/**"), held("allow", "write_file: src/**")];
  assertEquals(decide(led("src/link/a", "lib/a"), rules).action, undefined);
  assertEquals(decide(led("src/link/a", "secret/a"), rules).action, "deny");
  assertEquals(decide(led("src/link/a"), rules).action, undefined);
  assertEquals(decide(led(), rules).action, "ask");
  const both = { paths: [{ inside: "src/a", real: "src/a" }, { inside: "b", real: "b" }] };
  assertEquals(decide(call("apply_patch", {}, both), [held("allow", "apply_patch: src/**")]), {});
  assertEquals(
    decide(call("apply_patch", {}, both), [held("deny", "write_file: b")]).action,
    "deny",
  );
});

Deno.test("addresses: hosts by their labels, and only usual ports unless the rule names one", () => {
  const allowed = (pattern: string, url: string) =>
    decide(call("fetch_url", { url }), [held("allow", `fetch_url: ${pattern}`)]).action === "allow";
  const denied = (pattern: string, url: string) =>
    decide(call("fetch_url", { url }), [held("deny", `fetch_url: ${pattern}`)]).action === "deny";
  const cases: [string, string, boolean, boolean][] = [
    ["example.com", "https://example.com/x?y", true, true],
    ["example.com", "http://EXAMPLE.com./x", true, true],
    ["example.com", "https://a.example.com/", false, false],
    ["example.com", "https://example.com.evil.net/", false, false],
    ["example.com", "https://example.com:8443/", false, true],
    ["example.com", "https://user:pass@example.com/", false, true],
    ["example.com", "https://example.com@evil.net/", false, false],
    ["example.com", "ftp://example.com/", false, false],
    ["*.example.com", "https://a.b.example.com/", true, true],
    ["*.example.com", "https://example.com/", false, true],
    ["*.example.com", "https://evilexample.com/", false, false],
    ["localhost:8080", "http://localhost:8080/", true, true],
    ["localhost:8080", "http://localhost/", false, false],
    ["localhost:*", "http://localhost:1/", true, true],
    ["https://example.com/docs/*", "https://example.com/docs/a", true, true],
    ["https://example.com/docs/*", "http://example.com/docs/a", false, false],
    ["https://example.com/docs/*", "https://example.com/docs/../x", false, false],
  ];
  for (const [pattern, url, allows, denies] of cases) {
    assertEquals(
      [allowed(pattern, url), denied(pattern, url)],
      [allows, denies],
      `${pattern} ${url}`,
    );
  }
});

Deno.test("a rule for a tool of a server is bound to what the tool was", () => {
  const tool = (rule: string, foreign = false) => call("mcp_x_y", {}, { rule, foreign });
  const bound: Held = { ...held("allow", "mcp_x_y"), bound: "as described" };
  assertEquals(decide(tool("as described"), [bound]).action, "allow");
  assertEquals(decide(tool("described anew"), [bound]).action, undefined);
  assertEquals(decide(tool("as described", true), [bound]).action, "allow");
  const named = [held("allow", "mcp_x_*")];
  assertEquals(decide(tool("any"), named).action, "allow");
  // A project chose that name.
  assertEquals(decide(tool("any", true), named).action, undefined);
  assertEquals(decide(tool("any", true), [held("deny", "mcp_*")]).action, "deny");
});

Deno.test("the choices of a question are rules that hold for it, the narrowest first", () => {
  const lines: [string, string[]][] = [
    ["npm test -- a", ["npm test *"]],
    ["npm run build", ["npm run build *"]],
    ["ls -la", ["ls *"]],
    ["git push origin", ["git push *"]],
    ["npm test && ls", []],
    ["npm test > x", []],
    ["FOO=1 npm test", []],
    ["python3 -c 'print(1)'", []],
    ["bash -c 'ls'", ["ls *"]],
    ["find . -exec grep x {} +", []],
    ["sudo sh x", []],
    ["sudo -u me apt install", []],
    ["git -c a=b log", []],
    ["$X", []],
    ["sudo apt install x", ["sudo apt *"]],
    ["echo \u202e", []],
  ];
  for (const [command, prefixes] of lines) {
    const asked = call("run_command", { command }, { rule: `run_command ${command}` });
    assertEquals(choicesOf(asked, false), [
      `run_command = ${command}`,
      ...prefixes.map((it) => `run_command: ${it}`),
      "run_command",
    ], command);
  }
  const choices = (tool: string, args: Record<string, unknown>, whole = true) =>
    choicesOf(call(tool, args), whole);
  assertEquals(choices("write_file", { path: "src/a.ts" }), [
    "write_file: src/a.ts",
    "write_file: src/**",
    "write_file",
  ]);
  assertEquals(choices("write_file", { path: "src/[a]*.ts" }), ["write_file"]);
  assertEquals(choices("fetch_url", { url: "https://example.com:8443/x" }), [
    "fetch_url: example.com:8443",
    "fetch_url",
  ]);
  assertEquals([choices("verify", {}, false), choices("mcp_x_y", {})], [[], ["mcp_x_y"]]);
});

Deno.test("a line of Windows is allowed as a whole or not at all", () => {
  const line = call("run_command", { command: "npm test" }, { posix: false });
  assertEquals(decide(line, [held("allow", "run_command: npm test*")]).action, undefined);
  assertEquals(decide(line, [held("deny", "run_command: git push*")]).action, "ask");
  assertEquals(decide(line, [held("allow", "run_command = npm test")]).action, "allow");
});

Deno.test("the file of a project denies and asks, and nothing else", () => {
  const { rules, problem } = rulesIn('deny = ["run_command: git push*"]\nask = ["write_file"]');
  assertEquals([rules.map(({ action }) => action), problem], [["deny", "ask"], undefined]);
  for (const text of ["allow = 1", "[deny]", "deny = [1]", 'ask = ["a b"]', "x = 1", "deny = ["]) {
    const { rules, problem } = rulesIn(text);
    assertEquals([rules, typeof problem], [[], "string"], text);
  }
});

Deno.test("a rule against pushes holds for other names of a repository, one for them does not", () => {
  const acts = (action: Action, pattern: string, path: string) =>
    decide(call("git_push", { url: `https://a.example${path}` }), [
      held(action, `git_push: ${pattern}`),
    ]).action === action;
  const others = ["/me/repo", "/me/repo.git", "/Me/REPO", "/me/Repo.GIT", "/me/repo/"];
  for (const action of ["deny", "ask"] as const) {
    for (const pattern of ["/me/repo", "/ME/repo.git", "/me/repo/", "/me/re*", "/*.git", ""]) {
      for (const path of others) {
        assertEquals(acts(action, `a.example${pattern}`, path), true, `${pattern} ${path}`);
      }
    }
    for (const path of ["/me/repo2", "/me/repo.git2", "/me", "/me/repo/x", "/x/me/repo"]) {
      assertEquals(acts(action, "a.example/me/repo", path), false, path);
    }
    assertEquals(acts(action, "b.example/me/repo", "/me/repo"), false);
  }
  const allowed = others.filter((path) => acts("allow", "a.example/me/repo", path));
  assertEquals(allowed, ["/me/repo"]);
});
