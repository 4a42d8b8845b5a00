import { assertEquals } from "@std/assert";
import { credentialsOf, masker } from "./credentials.ts";
import type { ServerEntry } from "./policy.ts";
import { parsePolicy } from "./policy_file.ts";

const VARIABLES: Record<string, string> = { TOKEN: "secret-1", OTHER: "secret-2", EMPTY: "" };
const env = (name: string) => VARIABLES[name];

function entry(fields: string): ServerEntry {
  return parsePolicy(`mcp_servers: [{ name: s, ${fields} }]`, "policy.yaml").servers[0];
}

const stdio = (more: string) => entry(`transport: stdio, command: c, ${more}`);
const http = (more: string) => entry(`transport: http, url: "https://x.example", ${more}`);

Deno.test("a program gets the variable of auth_env and its own env, variables filled in", () => {
  assertEquals(
    credentialsOf(stdio('auth_env: TOKEN, env: { A: "x ${OTHER} y", B: "$OTHER" }'), env),
    {
      values: { A: "x secret-2 y", B: "$OTHER", TOKEN: "secret-1" },
      secrets: ["secret-2", "secret-1"],
    },
  );
});

Deno.test("an address gets a bearer token, unless its headers set one", () => {
  assertEquals(credentialsOf(http("auth_env: TOKEN"), env), {
    values: { authorization: "Bearer secret-1" },
    secrets: ["secret-1"],
  });
  assertEquals(
    credentialsOf(http('auth_env: TOKEN, headers: { Authorization: "Key ${OTHER}" }'), env),
    {
      values: { Authorization: "Key secret-2" },
      secrets: ["secret-2", "secret-1"],
    },
  );
});

Deno.test("a variable that is not set, or empty, is a problem that names it", () => {
  for (const name of ["EMPTY", "ABSENT"]) {
    const why = `the variable ${name}, which is not set in the daemon's environment`;
    assertEquals(credentialsOf(http(`auth_env: ${name}`), env), {
      problem: `auth_env names ${why}`,
    });
    assertEquals(credentialsOf(stdio(`env: { A: "\${${name}}" }`), env), {
      problem: `env.A names ${why}`,
    });
  }
});

Deno.test("only the variables that are allowed are given", () => {
  assertEquals(credentialsOf(stdio("auth_env: TOKEN"), env, ["OTHER"]), {
    problem:
      "auth_env names the variable TOKEN, which [policy] project_env in daemon.toml does not",
  });
  assertEquals(credentialsOf(stdio("auth_env: OTHER"), env, ["OTHER"]), {
    values: { OTHER: "secret-2" },
    secrets: ["secret-2"],
  });
});

Deno.test("a secret is masked as it is and as JSON, URLs and base64 write it", () => {
  const mask = masker(['pass"word&1', "pass", "true"]);
  assertEquals(mask('say pass"word&1 twice: pass"word&1'), "say *** twice: ***");
  assertEquals(mask(JSON.stringify({ a: 'pass"word&1' })), '{"a":"***"}');
  assertEquals(mask(`?key=${encodeURIComponent('pass"word&1')}`), "?key=***");
  assertEquals(mask(`Basic ${btoa('pass"word&1')}`).startsWith("Basic ***"), true);
  assertEquals(mask("true"), "true");
  assertEquals(masker(["secret", "secret-of-two"])("secret-of-two"), "***");
});
