/** Finds well-known credentials, which are never remembered. */

const SHAPES: readonly [name: string, shape: RegExp][] = [
  ["a private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----/],
  ["an API key (sk-…)", /\b[sr]k[-_][A-Za-z0-9_-]{16,}/],
  ["a GitHub token", /\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})/],
  ["a GitLab token", /\bglpat-[A-Za-z0-9_-]{16,}/],
  ["a Slack token", /\bxox[abeoprs]-[A-Za-z0-9-]{10,}/],
  ["an AWS key id", /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/],
  ["a Google API key", /\bAIza[A-Za-z0-9_-]{35}/],
  ["an npm token", /\bnpm_[A-Za-z0-9]{30,}/],
  ["a Hugging Face token", /\bhf_[A-Za-z0-9]{20,}/],
  ["a JSON Web Token", /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\./],
  ["a bearer token", /\bbearer\s+[A-Za-z0-9._~+/-]{16,}/i],
  ["a 256-bit token", /\b[0-9a-f]{64}\b/i],
  ["a password in an address", /\b[a-z][a-z0-9+.-]*:\/\/[^\s/:@]+:[^\s/@]+@/i],
  ["a password", /\b(?:password|passwd|passphrase|api[-_ ]?key|secret)\s*[:=]\s*\S{6,}/i],
];

/** Returns the kind of credential in a text, such as `a GitHub token`. */
export function credentialIn(text: string): string | undefined {
  return SHAPES.find(([, shape]) => shape.test(text))?.[0];
}
