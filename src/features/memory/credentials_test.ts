import { assertEquals } from "@std/assert";
import { credentialIn } from "./credentials.ts";

const filler = (length: number) => "aB3".repeat(length).slice(0, length);

const CREDENTIALS: Record<string, string> = {
  "a private key": "-----BEGIN OPENSSH PRIVATE KEY-----",
  "an API key (sk-…)": `use sk-ant-api03-${filler(40)} for it`,
  "a GitHub token": `ghp_${filler(36)}`,
  "a GitLab token": `glpat-${filler(20)}`,
  "a Slack token": `xoxb-${filler(24)}`,
  "an AWS key id": "the id is AKIAIOSFODNN7EXAMPLE",
  "a Google API key": `AIza${filler(35)}`,
  "an npm token": `npm_${filler(36)}`,
  "a Hugging Face token": `hf_${filler(30)}`,
  "a JSON Web Token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc",
  "a bearer token": `Authorization: Bearer ${filler(24)}`,
  "a 256-bit token": "0123456789abcdef".repeat(4),
  "a password in an address": "postgres://app:hunter2@db.internal/app",
  "a password": "the password: hunter2hunter2",
};

for (const [kind, text] of Object.entries(CREDENTIALS)) {
  Deno.test(`${kind} is found`, () => assertEquals(credentialIn(text), kind));
}

Deno.test("what people say about credentials, and other long words, are none", () => {
  for (
    const text of [
      "the password is kept in the vault of the team",
      "API keys are read from the environment",
      "see https://example.com:8443/path?token=none",
      "the commit 3f786850e387550fdab836ed7e6dc881de23001b broke it",
      "risk-assessment-of-the-release-candidate",
    ]
  ) assertEquals(credentialIn(text), undefined, text);
});
